/// Starts unwind cross-checks.
///
/// A cross-check delays neither other rings nor readers of a report.
final class SecondUnwindings: Sendable {
  private let analysis: CrashAnalysis
  private let outstanding = Outstanding()

  init(_ analysis: CrashAnalysis) { self.analysis = analysis }

  /// Precondition: the report is stored.
  ///
  /// The ring stays mapped, so its file can be removed during the cross-check.
  func start(_ process: AttachedProcess, report id: String, after tables: Task<Void, Never>? = nil) {
    // In a storm most cross-checks get no permit, and their rings need not be retained.
    guard analysis.unwinder.isOpen(for: process.facts.peer.uid) else { return }
    outstanding.begin()
    Task.detached { [self] in
      await tables?.value
      await analysis.unwindAgain(process, report: id)
      outstanding.end()
    }
  }

  /// Returns when all cross-checks started so far have ended.
  func finish() async { await outstanding.finish() }
}
