/// Starts the unwind cross-checks of stored reports.
///
/// The caller does not wait for the cross-check, so the cross-check delays neither other rings nor readers of the
/// report.
final class SecondUnwindings: Sendable {
  private let analysis: CrashAnalysis
  private let outstanding = Outstanding()

  init(_ analysis: CrashAnalysis) { self.analysis = analysis }

  /// Starts the cross-check of a report.
  ///
  /// Precondition: the report is stored. The ring stays mapped, so its file can be removed during the cross-check.
  func start(_ process: AttachedProcess, report id: String, after tables: Task<Void, Never>? = nil) {
    // If many processes crash at once, most cross-checks get no permit. Without a permit, return here, because the
    // return releases the ring.
    guard analysis.unwinder.isOpen(for: process.facts.peer.uid) else { return }
    outstanding.begin()
    Task.detached { [self] in
      await tables?.value
      await analysis.unwindAgain(process, report: id)
      outstanding.end()
    }
  }

  /// Returns when all cross-checks that were started before this call have ended.
  func finish() async { await outstanding.finish() }
}
