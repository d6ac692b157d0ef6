import CrashRing
import CrashStore
import Synchronization

// Reads the rings (the memory with crash records) of processes that announced records.
extension CrashPipeline {
  /// Waits for a permit to read rings, and then reads the ring of a process that announced a record.
  ///
  /// The task that reads the ring is created only after the permit is granted. During many concurrent crashes,
  /// thousands of rings wait, and each task would need a stack of 12 KB.
  func begin(_ process: AttachedProcess) {
    let uid = process.facts.peer.uid
    let enter: @Sendable () -> Void = { [self] in
      analysis.permits.enter(uid) { permit in
        // Swift runs the tasks of each priority on separate threads. The rings of a user are read at low priority if
        // reading them has taken too much time (`lookTime`). Therefore, rings that change constantly do not delay the
        // crashes of other users.
        let priority: TaskPriority = self.analysis.lookTime.wait_ns(for: uid) > 0 ? .low : .medium
        Task.detached(priority: priority) { await self.drain(process, permit) }
      }
    }
    // Wait until the symbol jobs of the ring's images are queued, and read the ring only after that.
    guard let preparation = entry(process.number)?.preparation else { return enter() }
    Task.detached {
      await preparation.value
      enter()
    }
  }

  /// Reads the ring once.
  ///
  /// If the process has ended, this method also completes the reports of the process, and removes the process from the
  /// table.
  private func drain(_ process: AttachedProcess, _ permit: FairSemaphore.Permit) async {
    let number = process.number
    let start_ns = Moment.monotonic_ns()
    defer { analysis.chargeLook(of: process.facts.peer.uid, since: start_ns) }
    guard let (isFinal, hasIncidents) = await read(process, permit) else { return finish(number, process) }
    if hasIncidents {
      await observe(process)
      if isFinal { loseUnstored(of: process) }
    }
    // Read the state of the process again, because it could have changed while the ring was read.
    if isFinal, let now = self.entry(number), let ended = now.end {
      if let id = now.reports.last {
        if now.hasSeveralCrashes { await analysis.noteEnd(ended, report: id) }
        if now.drains, ended.end != .goesOn { await analysis.noteInterruptedDrain(report: id) }
      }
      let outcome = await analysis.bury(ended, hasCrashed: now.hasCrashed)
      change(number) { $0.noteSilentDeath(outcome) }
      await end(number)
    }
    finish(number, process)
  }

  /// Reads and stores one ring while the caller holds a permit.
  /// - Returns: Whether the process had ended before its ring was read, and whether the process recorded non-fatal
  ///   incidents. Returns nil if the process is no longer in the table of processes.
  private func read(_ process: AttachedProcess, _ permit: FairSemaphore.Permit) async -> (Bool, Bool)? {
    defer { permit.giveBack() }
    guard let entry = takeTurn(process.number) else { return nil }
    // Ordering: clear the flag before the ring is read. For a record that is written later, the attach thread then sets
    // the flag and announces the record again.
    process.isAnnounced.store(false, ordering: .sequentiallyConsistent)
    let isFinal = process.hasEnded.load(ordering: .acquiring)
    if entry.ring == .read { return (isFinal, false) }
    return (isFinal, await look(at: process, permit, entry, isFinal: isFinal))
  }

  private func takeTurn(_ number: UInt64) -> ProcessLife? {
    change(number) { entry in
      entry.takeTurn()
      return entry
    }
  }

  /// Begins another reading if the process announced records during this reading.
  ///
  /// Otherwise, the next announcement begins a reading.
  private func finish(_ number: UInt64, _ process: AttachedProcess) {
    if change(number, { $0.finishTurn() }) == true { return begin(process) }
    wakeWaiters(of: process.facts.peer.pid)
    drains.end()
  }

  /// - Returns: Whether the process recorded non-fatal incidents.
  private func look(
    at process: AttachedProcess, _ permit: FairSemaphore.Permit, _ entry: ProcessLife, isFinal: Bool
  ) async -> Bool {
    let ring = AttachedRing(process: process, seen: entry.seen, isFinal: isFinal)
    let (outcome, hasIncidents) = await analysis.analyse(ring, permit)
    let crash = change(process.number) { entry in
      entry.noteReading(outcome, isFinal: isFinal)
      return entry.hasCrashed ? entry.reports.last : nil
    }
    if isFinal, let id = crash ?? nil { unwindings.start(process, report: id, after: entry.tables) }
    return hasIncidents
  }

  private func end(_ number: UInt64) async {
    guard let entry = entry(number) else { return }
    let ring = RingKey(entry.process.facts)
    // Remove the spool copy while `rings` still contains the ring, because no other task reads the copy as long as
    // `rings` contains the ring.
    if entry.isDone { spooler.spool.removeCopy(of: ring.id, owner: ring.user) }
    // A process that still runs can end its requests later, so these requests do not count as lost. If the process
    // attaches again with the same ring, crashd counts the requests from that attach on.
    let hasEnded = entry.end.map { $0.end != .goesOn } ?? false
    let requests = entry.requests.map { member in
      let ring = entry.process.ring
      return (member, RequestTotals.Counts(ring.requestCounts(), ring.containment(), since: member, hasEnded: hasEnded))
    }
    await analysis.health?.end(entry.process, isCrash: entry.isEndedByCrash)
    state.withLock { state in
      state.entries[number] = nil
      if let (member, counts) = requests { state.requests.end(member, counts) }
      // Move the process from `entries` to `ended` in one critical section. Therefore, a caller always finds the
      // process in exactly one of the two lists.
      state.ended.append(Ended(facts: entry.process.facts, reports: entry.reports))
      if state.ended.count > limits.endedProcesses {
        state.ended.removeFirst(state.ended.count - limits.endedProcesses)
      }
    }
    rings.remove(ring)
    tellCount()
    register.note(.ended(entry.process))
    // If every report of this ring is stored, the next crashd does not need the ring, and systemd can drop it.
    if let name = entry.process.keptName, analysis.outage.mayForget(name) { store?.forget(name) }
    // If the analysis failed, another attempt would fail again. In this case, the ring's file stays in the spool until
    // crashd starts again.
    if !entry.isDone && entry.crash != .failed { await spooler.takeIfThere(SpoolDirectory.name(of: ring.id)) }
  }
}
