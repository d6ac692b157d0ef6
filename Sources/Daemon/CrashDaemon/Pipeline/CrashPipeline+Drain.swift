import CrashRing
import CrashStore
import Synchronization

// Reads the rings of processes.
extension CrashPipeline {
  /// Waits for a permit, and then reads an announced ring.
  ///
  /// The task is created only after the permit is granted. Thousands of rings wait during a storm of crashes, and each
  /// task has a stack of 12 KB.
  func begin(_ process: AttachedProcess) {
    let uid = process.facts.peer.uid
    let enter: @Sendable () -> Void = { [self] in
      analysis.permits.enter(uid) { permit in
        // Swift runs each task priority on its own threads. Therefore rings that change constantly do not delay the
        // crashes of other users.
        let priority: TaskPriority = self.analysis.lookTime.wait_ns(for: uid) > 0 ? .low : .medium
        Task.detached(priority: priority) { await self.drain(process, permit) }
      }
    }
    // The ring is read only after the symbol jobs of its images are queued.
    guard let preparation = entry(process.number)?.preparation else { return enter() }
    Task.detached {
      await preparation.value
      enter()
    }
  }

  /// Reads the ring once.
  ///
  /// If the process has ended, this method also completes its reports and removes it.
  private func drain(_ process: AttachedProcess, _ permit: FairSemaphore.Permit) async {
    let number = process.number
    let start_ns = Moment.monotonic_ns()
    defer { analysis.chargeLook(of: process.facts.peer.uid, since: start_ns) }
    guard let (isFinal, hasIncidents) = await read(process, permit) else { return finish(number, process) }
    if hasIncidents {
      await observe(process)
      if isFinal { loseUnstored(of: process) }
    }
    // The state is read again, because it may have changed while the ring was read.
    if isFinal, let now = self.entry(number), let ended = now.end {
      if now.hasSeveralCrashes, let id = now.reports.last { await analysis.noteEnd(ended, report: id) }
      let outcome = await analysis.bury(ended, hasCrashed: now.hasCrashed)
      change(number) { $0.noteSilentDeath(outcome) }
      await end(number)
    }
    finish(number, process)
  }

  /// Does the part of a drain that needs the permit.
  /// - Returns: Whether the process had ended before its ring was read, and whether it recorded non-fatal incidents.
  ///   Nil if the process is no longer in the table.
  private func read(_ process: AttachedProcess, _ permit: FairSemaphore.Permit) async -> (Bool, Bool)? {
    defer { permit.giveBack() }
    guard let entry = takeTurn(process.number) else { return nil }
    // Ordering: the flag is cleared before the ring is read. A record that is written after that sets the flag and is
    // announced again.
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

  /// Begins another drain if the ring was announced during this drain.
  ///
  /// Otherwise the next announcement begins a drain.
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
    // The spool copy is removed while the ring is still in `rings`, because until then no other task reads the copy.
    if entry.isDone { spooler.spool.removeCopy(of: ring.id, owner: ring.user) }
    state.withLock { state in
      state.entries[number] = nil
      // Both lists change in one critical section, so that a caller always finds the process in one of them.
      state.ended.append(Ended(facts: entry.process.facts, reports: entry.reports))
      if state.ended.count > limits.endedProcesses {
        state.ended.removeFirst(state.ended.count - limits.endedProcesses)
      }
    }
    rings.remove(ring)
    tellCount()
    register.note(.ended(entry.process))
    // If every report of this ring is stored, the next crashd does not need the ring.
    if let name = entry.process.keptName, analysis.outage.mayForget(name) { store?.forget(name) }
    // If the report failed, another attempt would fail again. Its file stays in the spool until the next start.
    if !entry.isDone && entry.crash != .failed { await spooler.takeIfThere(SpoolDirectory.name(of: ring.id)) }
  }
}
