import CrashRing
import CrashStore
import Logging
import ServiceLifecycle
import Synchronization

/// What is to be done with attached processes and spool files: takes the events of the attach thread in their order,
/// looks at one ring at most once at a time, and knows when everything of a process is stored.
actor CrashPipeline: Service {
  private struct Entry {
    var process: AttachedProcess
    /// Symbol jobs for its images are in the queue when this has ended.
    var preparation: Task<Void, Never>
    /// The same of the jobs for its unwind tables.
    var tables: Task<Void, Never>
    /// The policy knows of it when this has ended.
    var registration: Task<Void, Never>
    var isBusy = false
    var isDirty = false
    var emptyWakes = 0
    var seen: CrashAnalysis.Seen?
    var reports: [String] = []
    /// Its incidents that are stored.
    var occurrences: CrashAnalysis.Occurrences = [:]
    /// How it went away; nil until that is known.
    var end: EndedProcess?
    /// Its connection is gone: what it left waits for `end`.
    var isEnding = false
    /// Its ring was looked at for the last time.
    var isRead = false
    /// A record was read, or could not be stored.
    var hasCrashed = false
    /// What the last look with news found is in the store.
    var isStored = false
    /// It could not be stored, and is counted as lost.
    var hasFailed = false

    /// Whoever crashed has told how he ends, as far as anybody can know now.
    var isSettled: Bool { !isBusy && !isDirty && (!isEnding || (hasCrashed && isRead)) }
  }

  /// A ring and whose it is: what a spool file is known by.
  private struct RingKey: Hashable {
    var id: String
    var user: UInt32

    init(id: String, user: UInt32) { (self.id, self.user) = (id, user) }
    init(_ facts: ProcessFacts) { self.init(id: facts.identity.ringID, user: facts.peer.uid) }
  }

  /// What `AwaitProcess` still tells of a process that has ended.
  private struct Ended {
    var facts: ProcessFacts
    var reports: [String]
  }

  let analysis: CrashAnalysis
  private let spool: SpoolDirectory
  private let events: AsyncStream<PipelineEvent>
  let limits: Limits
  private let store: DescriptorStore?
  private let pulse: Pulse
  /// Told how many processes there are, each time that changes.
  private let whenChanged: @Sendable (_ processes: Int) -> Void
  private var entries: [UInt64: Entry] = [:]
  /// How many entries each ring has: a process that connects again has two for a moment.
  private var rings: [RingKey: Int] = [:]
  private var ended: [Ended] = []
  private var spooled: Set<String> = []
  private var isSpoolBusy = false
  /// The last list of the spool was cut off.
  private var isListFull = false
  /// Files that are not looked at again: removed, or failed.
  private var settledFiles = 0
  /// Files that could not be taken, as they are: they would fail again, until the store has failed and is well again.
  private var failedFiles: [String: SpoolDirectory.FileIdentity] = [:]
  /// Names of files that were refused for want of something, which is told once.
  private var toldFiles: Set<String> = []
  /// The keeper of the store wants to know when these were looked at, and how many had been left until then.
  private var asked: (names: Set<String>, leavings: UInt64?)?
  private var taking: Task<Void, Never>?
  /// How often a report that changes meanwhile is improved.
  private static let improvements = 4
  /// Second unwindings, for which no other ring and nobody who waits for a report waits.
  private var unwindings: [UInt64: Task<Void, Never>] = [:]
  private var nextUnwinding: UInt64 = 0
  private var waiters: [UInt64: (pid: Int32, continuation: CheckedContinuation<Void, Never>)] = [:]
  private var nextWaiter: UInt64 = 0
  private var isStopping = false

  init(
    analysis: CrashAnalysis, spool: SpoolDirectory, events: AsyncStream<PipelineEvent>, store: DescriptorStore? = nil,
    pulse: Pulse = Pulse("pipeline"), whenChanged: @escaping @Sendable (_ processes: Int) -> Void = { _ in }
  ) {
    self.whenChanged = whenChanged
    self.store = store
    self.pulse = pulse
    self.analysis = analysis
    self.spool = spool
    self.events = events
    limits = analysis.limits
  }

  /// Takes events until the attach thread ends, then finishes what is begun.
  func run() async throws {
    await withDiscardingTaskGroup { group in
      group.addTask { await self.improveLateReports() }
      let watching = Task { await self.watch() }
      for await event in events { handle(event, in: &group) }
      watching.cancel()
      // What is stored is safe; systemd does not wait for a second look at it.
      await analysis.unwinder.stop()
      isStopping = true
      await analysis.caches.endLate()
    }
    await taking?.value
    for unwinding in unwindings.values { await unwinding.value }
    // A service that returns before its turn counts as failed.
    try await gracefulShutdown()
  }

  private func handle(_ event: PipelineEvent, in group: inout DiscardingTaskGroup) {
    pulse.beat()
    switch event {
    case .asked: break
    case .attached(let process, let images):
      let (caches, tables) = (analysis.caches, analysis.unwinder.tables)
      let preparation = Task { await caches.prepare(images, for: process.facts.peer.uid) }
      // No report waits for these.
      let unwinding = Task { await tables.prepare(images, for: process.facts.peer.uid) }
      let policy = analysis.policy
      let registration = Task { if let policy { await policy.attached(process) } }
      rings[RingKey(process.facts), default: 0] += 1
      entries[process.number] = Entry(
        process: process, preparation: preparation, tables: unwinding, registration: registration)
      whenChanged(entries.count)
    case .announced(let process):
      guard var entry = entries[process.number] else { return }
      let isIgnored = entry.emptyWakes >= limits.emptyWakes && !process.hasEnded.load(ordering: .acquiring)
      if isIgnored {
        analysis.ledger.refuse(
          "wake-up", from: process.facts.peer, because: "they bring nothing new; ignored from now on")
      }
      if !isIgnored { entry.isDirty = true }
      if process.hasEnded.load(ordering: .acquiring), entry.end == nil { entry.isEnding = true }
      entries[process.number] = entry
      start(process, in: &group)
    case .ended(let ended):
      entries[ended.process.number]?.end = ended
      entries[ended.process.number]?.isDirty = true
      start(ended.process, in: &group)
    case .spooled(let names):
      group.addTask { await self.takeSpool(names) }
    case .settled(let continuation):
      continuation.resume()
    }
  }
}

// Attached processes.
extension CrashPipeline {
  private func start(_ process: AttachedProcess, in group: inout DiscardingTaskGroup) {
    guard let entry = entries[process.number], entry.isDirty, !entry.isBusy else { return }
    entries[process.number]?.isBusy = true
    group.addTask { await self.drain(process) }
  }

  /// Looks at the ring as long as there is news of it.
  private func drain(_ process: AttachedProcess) async {
    while let entry = entries[process.number], entry.isDirty {
      entries[process.number]?.isDirty = false
      // Lowered before the look: what is written after it is announced again.
      process.isAnnounced.store(false, ordering: .sequentiallyConsistent)
      let isFinal = process.hasEnded.load(ordering: .acquiring)
      if !entry.isRead {
        await entry.preparation.value
        let outcome = await analysis.look(at: process, seen: entry.seen, isFinal: isFinal)
        record(outcome, of: process.number)
        if outcome != .nothingNew {
          entries[process.number]?.hasCrashed = true
          entries[process.number]?.hasFailed = outcome == .failed
          entries[process.number]?.isStored = if case .stored = outcome { true } else { false }
        }
        if isFinal { entries[process.number]?.isRead = true }
        if isFinal, entries[process.number]?.hasCrashed == true, let id = entries[process.number]?.reports.last {
          unwindAgain(process, report: id, after: entry.tables)
        }
        await observe(process)
      }
      // Read anew: it may have come while the ring was looked at.
      if isFinal, let now = entries[process.number], let ended = now.end {
        record(await analysis.bury(ended, hasCrashed: now.hasCrashed), of: process.number)
        await end(process.number)
        break
      }
    }
    entries[process.number]?.isBusy = false
    wakeWaiters()
  }

  private func record(_ outcome: CrashAnalysis.Outcome, of number: UInt64) {
    switch outcome {
    case .nothingNew: entries[number]?.emptyWakes += 1
    case .failed, .unanswered: break
    case .stored(let id, let seen), .held(let id, let seen):
      entries[number]?.seen = seen
      if entries[number]?.reports.contains(id) == false { entries[number]?.reports.append(id) }
    }
  }

  /// What is stored of its incidents; nil: it is not attached.
  func occurrences(of process: AttachedProcess) async -> CrashAnalysis.Occurrences? {
    await entries[process.number]?.registration.value
    return entries[process.number]?.occurrences
  }

  /// Returns when the policy knows of every process that the pipeline knows of.
  func registerAll() async {
    for registration in entries.values.map(\.registration) { await registration.value }
  }

  func remember(_ occurrences: CrashAnalysis.Occurrences, of process: AttachedProcess) {
    entries[process.number]?.occurrences = occurrences
  }

  private func end(_ number: UInt64) async {
    guard let entry = entries[number] else { return }
    // Before anybody sees that it is gone. One that goes on may leave another any moment.
    let isDead = if case .status = entry.end?.end { true } else { false }
    let isDone = entry.isStored && entry.isRead && isDead
    let ring = RingKey(entry.process.facts)
    if isDone { spool.removeCopy(of: ring.id, owner: ring.user) }
    entries[number] = nil
    whenChanged(entries.count)
    rings[ring] = rings[ring].flatMap { $0 > 1 ? $0 - 1 : nil }
    // Before anything is waited for: whoever asks meanwhile finds it in one of the two.
    ended.append(Ended(facts: entry.process.facts, reports: entry.reports))
    if ended.count > limits.endedProcesses { ended.removeFirst(ended.count - limits.endedProcesses) }
    await entry.registration.value
    await analysis.policy?.ended(entry.process)
    // Everything of it is stored: a crashd that comes later has nothing to do for it.
    if let name = entry.process.keptName, analysis.trouble.mayForget(name) { store?.forget(name) }
    // What has failed would fail again: its file is for the next start.
    if !isDone && !entry.hasFailed { await takeSpool([SpoolDirectory.name(of: ring.id)]) }
  }

  /// Processes that are attached now.
  func attached() -> [AttachedProcess] {
    entries.values.map(\.process).sorted { $0.number < $1.number }
  }
}

// Symbols that come late.
extension CrashPipeline {
  /// Makes reports again whose symbols have come since, one after the other.
  private func improveLateReports() async {
    let reanalysis = Reanalysis(analysis)
    for await late in analysis.caches.lateReports where !isStopping { await improve(late, reanalysis) }
  }

  private func improve(_ late: LateReport, _ reanalysis: Reanalysis) async {
    // More threads of its process may be read meanwhile, or its stacks unwound again, perhaps with the symbols of before.
    for attempt in 1...Self.improvements {
      do throws(Reanalysis.Failure) {
        _ = try await reanalysis.run(idPrefix: late.id, for: late.user, visibility: .all, waits: true)
        return
      } catch {
        if error == .changed && attempt < Self.improvements { continue }
        // The report may be gone.
        analysis.logger.debug("report \(late.id) stays without its late symbols: \(error)")
        return
      }
    }
  }
}

// Waiting for a process.
extension CrashPipeline {
  /// What is known of a process.
  struct Progress: Sendable, Equatable {
    var isAttached: Bool
    var isSettled: Bool
    var reports: [String]
  }

  /// Waits until everything that was announced of a process is stored, at most `timeout_ms`.
  func progress(pid: Int32, mayRead: @Sendable (Peer) -> Bool, timeout_ms: Int) async -> Progress {
    if !isSettled(pid) { await wait(pid, timeout_ms: timeout_ms) }
    let live = attached().filter { $0.facts.peer.pid == pid && mayRead($0.facts.peer) }
    let past = ended.filter { $0.facts.peer.pid == pid && mayRead($0.facts.peer) }
    guard let newest = live.last?.facts ?? past.last?.facts else {
      return Progress(isAttached: false, isSettled: isSettled(pid), reports: [])
    }
    // A process that became another program attached more than once, and its ends may come in any order.
    var reports = past.filter { newest.isSameProcess(as: $0.facts) }.flatMap(\.reports)
    if newest.startTime == nil, live.isEmpty { reports = past.last?.reports ?? [] }
    reports += live.flatMap { entries[$0.number]?.reports ?? [] }
    return Progress(isAttached: true, isSettled: isSettled(pid), reports: reports)
  }

  private func isSettled(_ pid: Int32) -> Bool {
    entries.values.allSatisfy { $0.process.facts.peer.pid != pid || $0.isSettled }
      && !analysis.trouble.isHolding(pid: pid)
  }

  private func wait(_ pid: Int32, timeout_ms: Int) async {
    nextWaiter += 1
    let number = nextWaiter
    let alarm = Task {
      try await Task.sleep(for: .milliseconds(timeout_ms))
      giveUp(number)
    }
    await withCheckedContinuation { waiters[number] = (pid, $0) }
    alarm.cancel()
  }

  private func giveUp(_ number: UInt64) {
    waiters.removeValue(forKey: number)?.continuation.resume()
  }

  /// Reports that waited in memory are stored, and who waits for them may go on, or files of the spool are due again.
  ///
  /// The keeper of the store does not wait for these: as long as somebody puts files there, there are more.
  func takeLeft(isWell: Bool) {
    wakeWaiters()
    if isWell { failedFiles = [:] }
    guard !isStopping, asked == nil else { return }
    let leavings = analysis.trouble.leavings
    guard queueSpool(nil) else { return }
    asked = (spooled, leavings)
    if !isSpoolBusy { taking = Task { await takeSpool([]) } }
    answerKeeper()
  }

  private func answerKeeper(_ name: String? = nil) {
    if let name { asked?.names.remove(name) }
    guard let asked, asked.names.isEmpty else { return }
    self.asked = nil
    analysis.trouble.looked(since: asked.leavings)
  }

  private func wakeWaiters() {
    for (number, waiter) in waiters where isSettled(waiter.pid) {
      waiters[number] = nil
      waiter.continuation.resume()
    }
  }
}

// Spool files.
extension CrashPipeline {
  /// Takes the named files, or all that are there; one after the other, whoever calls.
  private func takeSpool(_ names: [String]?) async {
    queueSpool(names)
    guard !isSpoolBusy else { return }
    isSpoolBusy = true
    repeat {
      let before = settledFiles
      while let name = spooled.popFirst() {
        await takeSpoolFile(name)
        answerKeeper(name)
      }
      // There were more than a list has: those that follow, as long as there is room for them.
      guard isListFull, settledFiles != before else { break }
      queueSpool(nil)
    } while !spooled.isEmpty
    isSpoolBusy = false
  }

  /// - Returns: false: the spool cannot be read.
  @discardableResult
  private func queueSpool(_ names: [String]?) -> Bool {
    if names == nil { failedFiles = failedFiles.filter { spool.identity(of: $0) == $1 } }
    do {
      let found = try names ?? spool.list(limit: limits.spoolFiles, except: Set(failedFiles.keys))
      if names == nil { isListFull = found.count >= limits.spoolFiles }
      spooled.formUnion(found)
      return true
    } catch {
      analysis.logger.error("cannot read the spool directory: \(error)")
      return false
    }
  }

  /// Whether the ring of a file is also that of an entry, at whose end the file goes, or is held in memory.
  private func isTakenCareOf(_ name: String) -> Bool {
    guard let id = SpoolDirectory.ringID(of: name) else { return false }
    guard let user = spool.owner(of: name) else { return false }
    return rings[RingKey(id: id, user: user)] != nil || analysis.trouble.isHolding(report: id, of: user)
  }

  private func takeSpoolFile(_ name: String) async {
    guard !isTakenCareOf(name), let file = spool.identity(of: name), failedFiles[name] != file else { return }
    // Open until the end: its number is no other file's as long.
    var left: AttachedProcess?
    defer { withExtendedLifetime(left) {} }
    do throws(SpoolRefusal) {
      left = try spool.open(name)
      guard let left else { return }
      guard await take(left, name, file) else { return }
    } catch {
      // crashd's own want: it is looked at again, and told once.
      if error.isPassing {
        analysis.trouble.leaveFile()
        guard toldFiles.count < limits.spoolFiles, toldFiles.insert(name).inserted else { return }
      }
      if error.isLoss {
        analysis.ledger.lose(["spool": 1], of: error.owner, process: CleanName.of(name))
      } else {
        analysis.ledger.refuse("spool file", from: error.owner, because: "'\(CleanName.of(name))' \(error.reason)")
      }
      if error.isPassing { return }
    }
    toldFiles.remove(name)
    // A process that lives may have put another one there meanwhile: the watch tells of that. One that its owner has only
    // changed waits for the next list.
    guard spool.identity(of: name) == file else { return }
    do throws(SystemError) {
      try spool.remove(name)
      settledFiles += 1
    } catch {
      analysis.logger.warning("\(error), ignoring")
      leave(name, file)
    }
  }

  /// It is not looked at again as it is.
  private func leave(_ name: String, _ file: SpoolDirectory.FileIdentity) {
    guard failedFiles.count < limits.spoolFiles else { return }
    failedFiles[name] = file
    settledFiles += 1
  }

  /// Stores what a file says, unless all of it is stored.
  /// - Returns: false: not stored, or not yet; the file stays for the next start, or until it is.
  private func take(_ left: AttachedProcess, _ name: String, _ file: SpoolDirectory.FileIdentity) async -> Bool {
    switch await analysis.compare(left) {
    case .stored: return true
    case .unknown(let error):
      analysis.trouble.leaveFile(because: error)
      return false
    case .news(let process):
      switch await analysis.look(at: process, seen: nil, isFinal: true, isFile: true) {
      case .unanswered(let error):
        analysis.trouble.leaveFile(because: error)
        return false
      case .held: return false
      case .failed:
        leave(name, file)
        return false
      case .nothingNew: return true
      case .stored(let id, _):
        unwindAgain(process, report: id)
        return true
      }
    }
  }

  /// The report is stored, and the ring stays mapped: its file can go, and who waits for the report has it.
  private func unwindAgain(_ process: AttachedProcess, report id: String, after tables: Task<Void, Never>? = nil) {
    nextUnwinding += 1
    let number = nextUnwinding
    unwindings[number] = Task {
      await tables?.value
      await analysis.unwindAgain(process, report: id)
      unwindings[number] = nil
    }
  }
}
