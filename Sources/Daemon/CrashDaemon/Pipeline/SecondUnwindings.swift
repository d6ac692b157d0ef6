/// Starts the unwind cross-checks of stored reports, in which libunwind unwinds the recorded stacks once more.
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
    // If many processes crash at once, most cross-checks get no permit, because permits limit their number. Return here
    // if there is no permit, because a task that waits for a permit would keep the ring in memory.
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
