import CrashRing
import Synchronization

// What happens while processes go on.
extension CrashPipeline {
  /// Looks at the rings now and then: no process is asked, and none is woken.
  func watch() async {
    while !Task.isCancelled {
      do {
        try await Task.sleep(for: .milliseconds(limits.observation_ms))
      } catch _ { return }
      // A ring that is being read needs no second read.
      for process in attached() { await observing.runIfFree(RingKey(process.facts)) { await observeAlone(process) } }
      await analysis.policy?.tick()
    }
  }

  /// Stores the incidents of all attached processes that may be seen.
  func observeAll(_ mayRead: @Sendable (Peer) -> Bool = { _ in true }) async {
    for process in attached() where mayRead(process.facts.peer) { await observe(process) }
  }

  /// Returns when what had happened in the process before this call is stored.
  func observe(_ process: AttachedProcess) async {
    await observing.run(RingKey(process.facts)) { await observeAlone(process) }
  }

  /// In a turn of its own: two looks at once would count what is new twice for the policy.
  private func observeAlone(_ process: AttachedProcess) async {
    // The policy takes what it sees of those that it knows.
    await register.settle()
    let ring = RingKey(process.facts)
    guard let process = attached(with: ring, first: process.number) else { return }
    rings.note(await analysis.observe(process, seen: rings.occurrences(of: ring)), of: ring)
  }

  /// A process that has the ring: the one of this number, or another one when that has gone.
  ///
  /// Those who wait for a turn of the ring share it, whichever of its processes they mean.
  private func attached(with ring: RingKey, first number: UInt64) -> AttachedProcess? {
    state.withLock { state in
      if let entry = state.entries[number] { return entry.process }
      return state.entries.values.first { RingKey($0.process.facts) == ring }?.process
    }
  }

  /// Counts what its last look could not store.
  func loseUnstored(of process: AttachedProcess) {
    guard entry(process.number) != nil else { return }
    analysis.loseUnstored(of: process, seen: rings.occurrences(of: RingKey(process.facts)))
  }
}
