import CrashRing
import Synchronization

// Reads the incidents (faults that the processes survived) in the rings of processes.
extension CrashPipeline {
  /// Reads announced incidents until crashd stops.
  ///
  /// When crashd stops, the queued readings are canceled, because crashd reads the incidents of every ring once more
  /// while it stops.
  func readAnnouncedIncidents() async {
    await withDiscardingTaskGroup { group in
      for await process in recorded.stream {
        let (number, ring) = (process.number, RingKey(process.facts))
        if rings.beginWaiting(ring, of: limits.account(of: ring.user), limit: limits.incidentWaitsPerUser) {
          group.addTask { await self.readIncidents(of: ring, first: number) }
        } else {
          // Do not begin a new reading. Either a reading of this ring is already queued, or the user has reached the
          // limit of queued readings, and `readUnannounced` stores the incidents. `readUnannounced` also stores the
          // incidents if the queued reading fails. Clear the flag, so that the process can announce later incidents.
          process.hasNewIncidents.store(false, ordering: .sequentiallyConsistent)
        }
      }
      group.cancelAll()
    }
  }

  /// Reads the incidents of a ring after a pause.
  ///
  /// The rate is limited, because processes decide how often they announce incidents. Each ring has a pause between two
  /// readings, and each user has a limited share of CPU time.
  ///
  /// During the pause, this method does not retain the process, so that a process that ends during the pause is
  /// released.
  private func readIncidents(of ring: RingKey, first number: UInt64) async {
    let pause_ns = rings.incidentPause_ns(of: ring, limits.incidentPause_ms)
    let wait_ns = min(
      max(pause_ns, analysis.incidentTime.wait_ns(for: ring.user)), UInt64(limits.incidentWait_ms) * 1_000_000)
    do {
      if wait_ns > 0 { try await Task.sleep(for: .nanoseconds(wait_ns)) }
    } catch _ {}
    rings.endWaiting(ring, of: limits.account(of: ring.user))
    guard !Task.isCancelled, let process = attached(with: ring, first: number) else { return }
    // Ordering: clear the flag before the incidents are read. If the process records an incident later, the attach
    // thread sets the flag again and announces the incident.
    process.hasNewIncidents.store(false, ordering: .sequentiallyConsistent)
    // Return if another reading of this ring is queued, because that reading will also read these incidents. Therefore,
    // at most one reading of a ring is queued while another reading of the same ring waits for symbols.
    if observing.waitingCount(ring) > 0 { return }
    let start_ns = Moment.monotonic_ns()
    // The reading runs in a separate task that is not canceled when crashd stops, because a canceled reading would
    // store incidents without their symbols.
    await Task { await observe(process) }.value
    analysis.chargeIncidents(of: ring.user, since: start_ns)
  }

  /// Periodically reads data that processes do not announce: the counters of protected classes, and incidents that no
  /// announced reading has stored (docs/decisions/0125).
  func watch() async {
    while !Task.isCancelled {
      do {
        try await Task.sleep(for: .milliseconds(limits.observation_ms))
      } catch _ { return }
      await readUnannounced()
      await analysis.policy?.tick()
      await analysis.health?.tick()
    }
  }

  func readUnannounced() async {
    for process in attached() {
      let ring = RingKey(process.facts)
      // Skip a ring that another task is reading.
      await observing.runIfFree(ring) {
        if process.ring.announcesIncidents() && !rings.isUnread(ring) {
          await analysis.sampleClasses(of: process)
        } else {
          await observeAlone(process)
        }
      }
    }
  }

  /// Stores the incidents that the process recorded before this call, and returns when they are stored.
  func observe(_ process: AttachedProcess) async {
    await observing.run(RingKey(process.facts)) { await observeAlone(process) }
  }

  /// Precondition: no other call is running for the ring of `process`, because two concurrent readings would pass the
  /// same incidents to the policy twice.
  private func observeAlone(_ process: AttachedProcess) async {
    // Wait until the process is registered with the policy, because the policy rejects incidents of processes that are
    // not registered.
    await register.settle()
    let ring = RingKey(process.facts)
    guard let process = attached(with: ring, first: process.number) else { return }
    rings.noteReading(of: ring)
    let found = await analysis.observe(process, seen: rings.occurrences(of: ring)) { rings.noteUnread(ring) }
    rings.note(found, of: ring)
  }

  /// Returns the attached process with the given number.
  ///
  /// If this process has ended, returns another attached process with the same ring.
  ///
  /// After a process has reconnected, for example, two connections have the same ring. They share one queued reading,
  /// and either of them can provide the ring.
  private func attached(with ring: RingKey, first number: UInt64) -> AttachedProcess? {
    state.withLock { state in
      if let entry = state.entries[number] { return entry.process }
      return state.entries.values.first { RingKey($0.process.facts) == ring }?.process
    }
  }

  /// Counts as lost the incidents that the last reading could not store.
  func loseUnstored(of process: AttachedProcess) {
    guard entry(process.number) != nil else { return }
    analysis.loseUnstored(of: process, seen: rings.occurrences(of: RingKey(process.facts)))
  }
}
