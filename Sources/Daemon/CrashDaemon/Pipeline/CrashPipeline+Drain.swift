import CrashRing
import CrashStore
import Synchronization

// Reading rings.
extension CrashPipeline {
  /// Reads an announced ring in its turn.
  ///
  /// The task begins with the turn: in a storm thousands of rings wait, and a task has a stack of 12 KB.
  func begin(_ process: AttachedProcess) {
    let uid = process.facts.peer.uid
    let enter: @Sendable () -> Void = { [self] in
      analysis.permits.enter(uid) { permit in
        // Each priority has its own threads: rings that change all the time delay no other user's crash.
        let priority: TaskPriority = self.analysis.lookTime.wait_ns(for: uid) > 0 ? .low : .medium
        Task.detached(priority: priority) { await self.drain(process, permit) }
      }
    }
    // Makes sure that symbols exist or are being built.
    guard let preparation = entry(process.number)?.preparation else { return enter() }
    Task.detached {
      await preparation.value
      enter()
    }
  }

  /// One turn.
  private func drain(_ process: AttachedProcess, _ permit: FairSemaphore.Permit) async {
    let number = process.number
    let start_ns = Moment.monotonic_ns()
    defer { analysis.chargeLook(of: process.facts.peer.uid, since: start_ns) }
    guard let (isFinal, hasIncidents) = await read(process, permit) else { return finish(number, process) }
    if hasIncidents {
      await observe(process)
      if isFinal { loseUnstored(of: process) }
    }
    // Read again: the end may have arrived while the ring was read.
    if isFinal, let now = self.entry(number), let ended = now.end {
      if now.hasSeveralCrashes, let id = now.reports.last { await analysis.noteEnd(ended, report: id) }
      let outcome = await analysis.bury(ended, hasCrashed: now.hasCrashed)
      change(number) { $0.noteSilentDeath(outcome) }
      await end(number)
    }
    finish(number, process)
  }

  /// The part of a turn that holds the permit.
  /// - Returns: Whether the process had ended when its ring was read, and whether it recorded non-fatal incidents.
  private func read(_ process: AttachedProcess, _ permit: FairSemaphore.Permit) async -> (Bool, Bool)? {
    defer { permit.giveBack() }
    guard let entry = takeTurn(process.number) else { return nil }
    // Ordering: cleared before the reading, so that later records are announced again.
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

  /// Begins another turn if there is more to read; else the next announcement begins it.
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
    // Before the process disappears from the state.
    if entry.isDone { spooler.spool.removeCopy(of: ring.id, owner: ring.user) }
    state.withLock { state in
      state.entries[number] = nil
      // In the same critical section: a caller finds the process in one of the two.
      state.ended.append(Ended(facts: entry.process.facts, reports: entry.reports))
      if state.ended.count > limits.endedProcesses {
        state.ended.removeFirst(state.ended.count - limits.endedProcesses)
      }
    }
    rings.remove(ring)
    tellCount()
    register.note(.ended(entry.process))
    // Everything is stored, so the next crashd has nothing to do for this ring.
    if let name = entry.process.keptName, analysis.outage.mayForget(name) { store?.forget(name) }
    // A failed report would fail again: its file stays for the next start.
    if !entry.isDone && entry.crash != .failed { await spooler.takeIfThere(SpoolDirectory.name(of: ring.id)) }
  }
}
