import CrashRing

// What happens while processes go on.
extension CrashPipeline {
  /// Looks at the rings now and then: no process is asked, and none is woken.
  func watch() async {
    while !Task.isCancelled {
      do {
        try await Task.sleep(for: .milliseconds(limits.observation_ms))
      } catch _ { return }
      await observeAll()
      await analysis.policy?.tick()
    }
  }

  /// Stores the incidents of all attached processes that may be seen.
  func observeAll(_ mayRead: @Sendable (Peer) -> Bool = { _ in true }) async {
    for process in attached() where mayRead(process.facts.peer) { await observe(process) }
  }

  func observe(_ process: AttachedProcess) async {
    // The policy takes what it sees of those that it knows.
    await register.settle()
    guard let entry = entry(process.number) else { return }
    let found = await analysis.observe(process, seen: entry.occurrences)
    change(process.number) { $0.occurrences = found }
  }
}
