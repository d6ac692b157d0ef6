/// Starts unwind cross-checks.
///
/// They delay no other ring and no reader of a report.
final class SecondUnwindings: Sendable {
  private let analysis: CrashAnalysis
  private let outstanding = Outstanding()

  init(_ analysis: CrashAnalysis) { self.analysis = analysis }

  /// Precondition: the report is stored.
  ///
  /// The ring stays mapped, so its file can be removed, and readers have the report.
  func start(_ process: AttachedProcess, report id: String, after tables: Task<Void, Never>? = nil) {
    // In a storm most get no permit: their rings are not retained to find that out later.
    guard analysis.unwinder.isOpen(for: process.facts.peer.uid) else { return }
    outstanding.begin()
    Task.detached { [self] in
      await tables?.value
      await analysis.unwindAgain(process, report: id)
      outstanding.end()
    }
  }

  /// Returns when the cross-checks started so far have ended.
  func finish() async { await outstanding.finish() }
}
