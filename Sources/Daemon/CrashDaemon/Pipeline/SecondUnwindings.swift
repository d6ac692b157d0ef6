/// Starts second unwindings, for which no other ring and nobody who waits for a report waits.
final class SecondUnwindings: Sendable {
  private let analysis: CrashAnalysis
  private let outstanding = Outstanding()

  init(_ analysis: CrashAnalysis) { self.analysis = analysis }

  /// The report is stored, and the ring stays mapped: its file can go, and who waits for the report has it.
  func start(_ process: AttachedProcess, report id: String, after tables: Task<Void, Never>? = nil) {
    // In a storm there is no place for most: their rings are not kept to be told that later.
    guard analysis.unwinder.isOpen(for: process.facts.peer.uid) else { return }
    outstanding.begin()
    Task.detached { [self] in
      await tables?.value
      await analysis.unwindAgain(process, report: id)
      outstanding.end()
    }
  }

  /// Returns when those that were started until now have ended.
  func finish() async { await outstanding.finish() }
}
