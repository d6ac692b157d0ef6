import CrashRing
import CrashStore
import Synchronization

// Looking at rings.
extension CrashPipeline {
  /// Looks at a ring of which there is news, when it is its turn.
  ///
  /// The task begins with the turn: thousands of rings wait in a storm, and a task has a stack of 12 KB.
  func begin(_ process: AttachedProcess) {
    let uid = process.facts.peer.uid
    let enter: @Sendable () -> Void = { [self] in
      analysis.permits.enter(uid) { permit in
        // Each priority has threads of its own: rings that always have news keep no other user's crash waiting.
        let priority: TaskPriority = self.analysis.lookTime.wait_ns(for: uid) > 0 ? .low : .medium
        Task.detached(priority: priority) { await self.drain(process, permit) }
      }
    }
    // Sees to it that symbols are there, or under way.
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
    // Read anew: it may have come while the ring was read.
    if isFinal, let now = self.entry(number), let ended = now.end {
      if now.hasSeveralCrashes, let id = now.reports.last { await analysis.noteEnd(ended, report: id) }
      let outcome = await analysis.bury(ended, hasCrashed: now.hasCrashed)
      change(number) { $0.noteSilentDeath(outcome) }
      await end(number)
    }
    finish(number, process)
  }

  /// The part of a turn that holds the permit.
  /// - Returns: Whether the process had ended when its ring was read, and whether something was seen while it went on.
  private func read(_ process: AttachedProcess, _ permit: FairSemaphore.Permit) async -> (Bool, Bool)? {
    defer { permit.giveBack() }
    guard let entry = takeTurn(process.number) else { return nil }
    // Lowered before the look: what is written after it is announced again.
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

  /// More news, and another turn; else the next news begins it.
  private func finish(_ number: UInt64, _ process: AttachedProcess) {
    if change(number, { $0.finishTurn() }) == true { return begin(process) }
    wakeWaiters(of: process.facts.peer.pid)
    drains.end()
  }

  /// - Returns: Whether something was seen while the process went on.
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
    // Before anybody sees that it is gone.
    if entry.isDone { spooler.spool.removeCopy(of: ring.id, owner: ring.user) }
    state.withLock { state in
      state.entries[number] = nil
      // With that: a caller finds it in one of the two.
      state.ended.append(Ended(facts: entry.process.facts, reports: entry.reports))
      if state.ended.count > limits.endedProcesses {
        state.ended.removeFirst(state.ended.count - limits.endedProcesses)
      }
    }
    rings.remove(ring)
    tellCount()
    register.note(.ended(entry.process))
    // Everything of it is stored: a crashd that comes later has nothing to do for it.
    if let name = entry.process.keptName, analysis.trouble.mayForget(name) { store?.forget(name) }
    // What has failed would fail again: its file is for the next start.
    if !entry.isDone && entry.crash != .failed { await spooler.takeIfThere(SpoolDirectory.name(of: ring.id)) }
  }
}
