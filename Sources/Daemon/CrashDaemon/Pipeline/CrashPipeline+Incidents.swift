import CrashRing
import Synchronization

// Non-fatal incidents.
extension CrashPipeline {
  /// Reads announced incidents until crashd stops.
  ///
  /// During the stop every ring is read once more anyway.
  func readAnnouncedIncidents() async {
    await withDiscardingTaskGroup { group in
      for await process in recorded.stream {
        let (number, ring) = (process.number, RingKey(process.facts))
        if rings.beginWaiting(ring, of: limits.account(of: ring.user), limit: limits.incidentWaitsPerUser) {
          group.addTask { await self.readIncidents(of: ring, first: number) }
        } else {
          // The reading that already waits will store these incidents, or else `readUnannounced` will. Incidents
          // recorded later are announced again.
          process.hasNewIncidents.store(false, ordering: .sequentiallyConsistent)
        }
      }
      group.cancelAll()
    }
  }

  /// Limits the readings, because processes decide how often they announce.
  ///
  /// Each ring has a pause after a reading, and each user has a share of the time.
  ///
  /// A waiting reading does not retain the process, so a process that ends in the meantime is released.
  private func readIncidents(of ring: RingKey, first number: UInt64) async {
    let pause_ns = rings.incidentPause_ns(of: ring, limits.incidentPause_ms)
    let wait_ns = min(
      max(pause_ns, analysis.incidentTime.wait_ns(for: ring.user)), UInt64(limits.incidentWait_ms) * 1_000_000)
    do {
      if wait_ns > 0 { try await Task.sleep(for: .nanoseconds(wait_ns)) }
    } catch _ {}
    rings.endWaiting(ring, of: limits.account(of: ring.user))
    guard !Task.isCancelled, let process = attached(with: ring, first: number) else { return }
    // Ordering: the flag is cleared before the reading, and later records are then announced again.
    process.hasNewIncidents.store(false, ordering: .sequentiallyConsistent)
    // Another reading already waits and will read these incidents too. At most one reading waits while another one
    // waits for symbols.
    if observing.waitingCount(ring) > 0 { return }
    let start_ns = Moment.monotonic_ns()
    // Runs as a separate task: if a stop canceled the reading, incidents would be stored without their symbols.
    await Task { await observe(process) }.value
    analysis.chargeIncidents(of: ring.user, since: start_ns)
  }

  /// Periodically reads what is not announced: the counters of protected classes, and incidents that no announced
  /// reading has stored (docs/decisions/0125).
  func watch() async {
    while !Task.isCancelled {
      do {
        try await Task.sleep(for: .milliseconds(limits.observation_ms))
      } catch _ { return }
      await readUnannounced()
      await analysis.policy?.tick()
    }
  }

  func readUnannounced() async {
    for process in attached() {
      let ring = RingKey(process.facts)
      // A ring that is already being read is skipped.
      await observing.runIfFree(ring) {
        if process.ring.announcesIncidents() && !rings.isUnread(ring) {
          await analysis.sampleClasses(of: process)
        } else {
          await observeAlone(process)
        }
      }
    }
  }

  /// Returns when the process's incidents before this call are stored.
  func observe(_ process: AttachedProcess) async {
    await observing.run(RingKey(process.facts)) { await observeAlone(process) }
  }

  /// Must not run twice at once for one ring: two concurrent readings would count new incidents twice for the policy.
  private func observeAlone(_ process: AttachedProcess) async {
    // The policy accepts incidents only of registered processes.
    await register.settle()
    let ring = RingKey(process.facts)
    guard let process = attached(with: ring, first: process.number) else { return }
    rings.noteReading(of: ring)
    let found = await analysis.observe(process, seen: rings.occurrences(of: ring)) { rings.noteUnread(ring) }
    rings.note(found, of: ring)
  }

  /// Returns a process that has this ring: the process with this number, or another one if that process has ended.
  ///
  /// Calls that wait to read the same ring share one reading, although they may wait for different processes.
  private func attached(with ring: RingKey, first number: UInt64) -> AttachedProcess? {
    state.withLock { state in
      if let entry = state.entries[number] { return entry.process }
      return state.entries.values.first { RingKey($0.process.facts) == ring }?.process
    }
  }

  /// Counts the incidents that the last reading could not store as lost.
  func loseUnstored(of process: AttachedProcess) {
    guard entry(process.number) != nil else { return }
    analysis.loseUnstored(of: process, seen: rings.occurrences(of: RingKey(process.facts)))
  }
}
