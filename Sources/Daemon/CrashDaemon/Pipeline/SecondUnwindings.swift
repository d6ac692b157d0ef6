/// Starts unwind cross-checks.
///
/// The caller does not wait for the cross-check, so it delays neither other rings nor readers of the report.
final class SecondUnwindings: Sendable {
  private let analysis: CrashAnalysis
  private let outstanding = Outstanding()

  init(_ analysis: CrashAnalysis) { self.analysis = analysis }

  /// Starts a cross-check.
  ///
  /// Precondition: the report is stored. The ring stays mapped, so its file may be removed during the cross-check.
  func start(_ process: AttachedProcess, report id: String, after tables: Task<Void, Never>? = nil) {
    // During a storm of crashes most cross-checks get no permit. Returning here releases their rings.
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
