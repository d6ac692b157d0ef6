import CrashReport
import CrashRing
import CrashStore
import CrashSymbols
import LinuxSystem
import Logging
import Synchronization

/// The way of one crash from the ring to the store: read, symbolicate, diagnose, group, store.
struct CrashAnalysis: Sendable {
  /// How often the frames may lead to new images while the symbols of the others are made.
  private static let symbolRounds = 4
  /// How many ids are tried for a report.
  static let attempts = 8

  var caches: SymbolCaches
  var unwinder: SnapshotUnwinder
  /// For rings that are read, symbolicated and stored.
  var permits: FairSemaphore
  /// Time that reading the rings of each user takes.
  ///
  /// Those of a user beyond its allowance are read with a lower priority.
  var lookTime: CPUAccounts
  var store: ReportStore
  var hub: EventHub
  var trouble: StoreTrouble
  var ledger: Ledger
  var limits: Limits
  var logger: Logger
  var units = UnitResults()
  /// Of which processes no memory is kept.
  var settings = LiveSettings()
  /// What is shown of crashes that wait for their symbols.
  var preliminary = PreliminaryReports()
  /// Learns of dangling crashes and of what the quarantine saw; nil in tests that have none.
  var policy: PolicyKeeper?

  /// Counts the time of one look; what it waits for symbols is not its own.
  func chargeLook(of uid: UInt32, since start_ns: UInt64) {
    let longest_ns = UInt64(limits.lookCharge_ms) * 1_000_000
    lookTime.charge(uid, min(Moment.monotonic_ns() - start_ns, longest_ns))
  }

  /// What one look at a ring led to.
  enum Outcome: Sendable, Equatable {
    /// No thread has crashed, or none that the last look did not know.
    case nothingNew
    case stored(id: String, seen: Seen)
    /// It waits in memory for a store that takes it.
    case held(id: String, seen: Seen)
    /// The store takes nothing now; the file that it came from is as safe a place as memory.
    case unanswered(StoreError)
    case failed
  }

  /// What a look at a ring found, to tell whether the next one finds more.
  struct Seen: Sendable, Equatable {
    var records: [[UInt64]]
    /// Threads that the sweep found: with it a report is whole.
    var threads: [Int32]
    var losses: [String: Int]
    /// Of a moment when the ring held just this; nil when it changed meanwhile.
    var stamp: RingStamp?

    init(_ contents: RingContents, stamp: RingStamp? = nil) {
      self.stamp = stamp
      records = contents.records.map { [UInt64($0.slot), $0.generation] }
      threads = contents.threads.map(\.tid)
      losses = contents.losses
    }

    /// The stamp is no part of what was found.
    static func == (left: Seen, right: Seen) -> Bool {
      left.records == right.records && left.threads == right.threads && left.losses == right.losses
    }

    /// Whether a ring of that stamp has nothing else, nor anything that only its process's end shows.
    func isAll(of stamp: RingStamp) -> Bool { stamp.isSettled && losses.isEmpty && self.stamp == stamp }
  }

  /// Looks at the ring of a process that is attached, or was until now, and stores what is new.
  ///
  /// - Parameters:
  ///   - process: Whose ring.
  ///   - permit: The caller's; it is given back while the ring's symbols are waited for.
  ///   - seen: What the last look found.
  ///   - isFinal: The process can write no more. It is asked when it is its turn: in a storm most end while they wait,
  ///     and one that was read as a living one would have to wait once more.
  /// - Returns: What it led to, and whether something was seen while the process went on.
  func look(
    at process: AttachedProcess, _ permit: FairSemaphore.Permit, seen: Seen?, isFinal: Bool
  ) async -> (outcome: Outcome, hasIncidents: Bool) {
    process.ring.keepPages()
    defer {
      process.ring.letGoOfPages()
      preliminary.remove(RingKey(process.facts))
    }
    var hasIncidents = false
    let outcome = await lookInPlace(at: process, permit, seen: seen, isFinal: isFinal, isFile: false, &hasIncidents)
    return (outcome, hasIncidents)
  }

  /// Looks at the ring of a file, which stays until this has stored it.
  func look(atFile process: AttachedProcess) async -> Outcome {
    await permits.withPermit(for: process.facts.peer.uid) { permit in
      defer { preliminary.remove(RingKey(process.facts)) }
      var hasIncidents = false
      return await lookInPlace(at: process, permit, seen: nil, isFinal: true, isFile: true, &hasIncidents)
    }
  }

  @inline(never)
  private func lookInPlace(
    at process: AttachedProcess, _ permit: FairSemaphore.Permit, seen: Seen?, isFinal: Bool, isFile: Bool,
    _ hasIncidents: inout Bool
  ) async -> Outcome {
    let user = process.facts.peer.uid
    var stamp = process.ring.stamp()
    if let seen, seen.isAll(of: stamp) {
      let (incidents, classes, _) = process.ring.observations()
      hasIncidents = !incidents.isEmpty || !classes.isEmpty
      return .nothingNew
    }
    var contents = read(process, isFinal: isFinal)
    hasIncidents = !contents.incidents.isEmpty || !contents.protectedClasses.isEmpty
    let losses = isFinal ? contents.losses : [:]
    let tellLosses = { ledger.lose(losses, of: process.facts.peer, process: process.facts.identity.name) }
    // Of a file that is read again they would be counted again.
    if !isFile { tellLosses() }
    guard !contents.records.isEmpty, Seen(contents) != seen else {
      if isFile { tellLosses() }
      return .nothingNew
    }

    let question = SymbolQuestion(contents)
    var symbols: OpenCaches
    if let ready = await caches.ready(question.wanted, question.images, for: user) {
      symbols = await openCaches(question, ready, for: user)
    } else {
      await showPreliminary(contents, of: process)
      // Releases the permit and the ring copy while symbols are built.
      contents.forgetAll()
      if !isFile { process.ring.letGoOfPages() }
      symbols = await permit.whileReleased { await openCaches(question, nil, for: user) }
      if !isFile { process.ring.keepPages() }
      stamp = process.ring.stamp()
      contents = read(process, isFinal: isFinal)
      hasIncidents = !contents.incidents.isEmpty || !contents.protectedClasses.isEmpty
    }
    // More threads may have crashed while the symbols were made, perhaps in other images. A process that goes on like
    // this is not followed for ever: its last frames have addresses then.
    var raw: [UInt8] = []
    var isOne = false
    for _ in 0..<Self.symbolRounds {
      // Between two moments of one stamp, with the contents: what is stored beside a report has neither more than the
      // report, or a copy of the ring that has it, too, would not be news; nor less, or the report could not be made of
      // it anew.
      do throws(SystemError) { raw = try excerpt(process) } catch { return notStored(process, error) }
      let after = process.ring.stamp()
      isOne = after == stamp && symbols.cover(contents.addressesOfFrames)
      if isOne { break }
      stamp = after
      contents = read(process, isFinal: isFinal)
      if !symbols.cover(contents.addressesOfFrames) { symbols = await openCaches(for: contents, of: process) }
    }
    // Of one that never stands still, the report is made of what is stored beside it.
    if !isOne, let copy = Reanalysis.process(ofOrphan: raw) { contents = read(copy, isFinal: isFinal) }
    // A process can take its records back.
    guard !contents.records.isEmpty else { return .nothingNew }
    let seen = Seen(contents, stamp: isOne ? stamp : nil)
    let builder = await builder(contents, of: process, symbols)
    do {
      var made: CrashReport?
      let (id, place) = try put(raw, of: process, isFile: isFile) { id in
        made = builder.report(id: id)
        return made
      }
      if isFile { tellLosses() }
      if let made, PolicyKeeper.counts(made) { await policy?.stored(made, of: process.facts) }
      guard place == .store else { return .held(id: id, seen: seen) }
      let late = symbols.gaps.filter { $0.value.mayFill }.keys
      if !late.isEmpty { await caches.remember(LateReport(id: id, user: process.facts.peer.uid), until: late) }
      return .stored(id: id, seen: seen)
    } catch {
      if isFile, let error = error as? StoreError, error.isOutage { return .unanswered(error) }
      return notStored(process, error)
    }
  }

  /// Reports how a process ended that no record tells of, unless it ended well.
  ///
  /// One that crashed before, and did not end by that, has two reports.
  func bury(_ ended: EndedProcess, hasCrashed: Bool = false) async -> Outcome {
    guard SilentDeath.isPossible(ended, hasCrashed: hasCrashed) else { return .nothingNew }
    return await permits.withPermit(for: ended.process.facts.peer.uid) { _ in
      await report(ended, hasCrashed: hasCrashed)
    }
  }

  @inline(never)
  private func report(_ ended: EndedProcess, hasCrashed: Bool) async -> Outcome {
    let process = ended.process
    let contents = read(process, isFinal: true)
    guard var death = SilentDeath(ended, losses: contents.losses, hasCrashed: hasCrashed) else {
      if ended.end == .unknown && !hasCrashed {
        ledger.lose(["end": 1], of: process.facts.peer, process: process.facts.identity.name)
      }
      return .nothingNew
    }
    let raw: [UInt8]
    do throws(SystemError) { raw = try excerpt(process) } catch { return notStored(process, error) }
    let time = Moment.now()
    if let unit = process.facts.unit, let signal = death.death.signal,
      let result = await units.of(unit: unit, pid: process.facts.peer.pid, signal: signal)
    {
      var known = death.death
      known.unitResult = result.word
      death = SilentDeath(known, losses: contents.losses)
    }
    var builder = ReportBuilder(contents, process: process.facts, symbols: OpenCaches())
    builder.noteHistory()
    do {
      let (id, place) = try put(raw, of: process, isSecond: hasCrashed) { builder.report(id: $0, of: death, at: time) }
      let seen = Seen(contents)
      return place == .store ? .stored(id: id, seen: seen) : .held(id: id, seen: seen)
    } catch {
      return notStored(process, error)
    }
  }

  private func notStored(_ process: AttachedProcess, _ error: any Error) -> Outcome {
    logger.error("cannot store the report of '\(process.facts.identity.name)' (\(process.facts.peer)): \(error)")
    ledger.lose(["store": 1], of: process.facts.peer, process: process.facts.identity.name)
    return .failed
  }

  /// A ring that is not written any more, and the symbols of today for it.
  func openAgain(_ process: AttachedProcess) async -> (RingContents, OpenCaches) {
    let contents = read(process, isFinal: true)
    return (contents, await openCaches(for: contents, of: process))
  }

  func openCaches(for contents: RingContents, of process: AttachedProcess) async -> OpenCaches {
    await openCaches(SymbolQuestion(contents), nil, for: process.facts.peer.uid)
  }

  /// The symbols of today, as far as they need not be waited for.
  func openCachesThatAreThere(for contents: RingContents, of process: AttachedProcess) async -> OpenCaches {
    let wanted = contents.addressesOfFrames
    return await judged(wanted, await caches.answer(to: wanted, for: process.facts.peer.uid, timeout_ms: 0))
  }

  /// What the frames of a ring need.
  private struct SymbolQuestion: Sendable {
    var wanted: [String: Set<UInt64>]
    var images: [ImageFile]

    init(_ contents: RingContents) {
      let wanted = contents.addressesOfFrames
      self.wanted = wanted
      images = ImageFile.list(contents.images.filter { wanted[$0.buildID] != nil })
    }
  }

  // Waits for what is not `ready` without it.
  private func openCaches(
    _ question: SymbolQuestion, _ ready: SymbolCaches.Answer?, for user: UInt32
  ) async -> OpenCaches {
    let wanted = question.wanted
    let answer: SymbolCaches.Answer
    if let ready {
      answer = ready
    } else {
      await caches.prepare(question.images, for: user)
      answer = await caches.answer(to: wanted, for: user, timeout_ms: limits.symbolWait_ms)
    }
    return await judged(wanted, answer)
  }

  private func judged(_ wanted: [String: Set<UInt64>], _ answer: SymbolCaches.Answer) async -> OpenCaches {
    var open = OpenCaches(asked: wanted, caches: answer.caches, gaps: answer.gaps)
    open.unreadable = await caches.judge.unreadable(of: open.names)
    return open
  }

  /// What makes the report, and `old` made it before; with the variables of the place where a pointer was wrong.
  func builder(
    _ contents: RingContents, of process: AttachedProcess, _ symbols: OpenCaches, old: CrashReport? = nil,
    endSignal: Int32? = nil
  ) async -> ReportBuilder<OpenCaches> {
    var builder = ReportBuilder(contents, process: process.facts, symbols: symbols)
    builder.noteHistory()
    builder.earlierField = old?.diagnosis.field
    builder.earlierDiagnosis = old?.diagnosis
    builder.endSignal = endSignal ?? old.map { Int32(clamping: $0.signal.number) }
    let (places, user) = (builder.placesToDescribe, process.facts.peer.uid)
    if let place = places.first, place.hasLines, let file = ImageFile.list([place.image]).first {
      builder.scope = await caches.scopes.scope(of: file, at: place.linkAddress, for: user)
    }
    guard builder.needsNamedClasses else { return builder }
    builder.hasAllClasses = true
    // All of them may take as long as the slowest one may.
    let deadline = ContinuousClock.now + .milliseconds(limits.scope_ms)
    for place in places where builder.namedClasses.isEmpty {
      guard ContinuousClock.now < deadline, let file = ImageFile.list([place.image]).first,
        let found = await caches.scopes.classes(of: file, at: place.linkAddress, for: user)
      else {
        builder.hasAllClasses = false
        continue
      }
      builder.namedClasses = found
    }
    return builder
  }

  func read(_ process: AttachedProcess, isFinal: Bool) -> RingContents {
    var contents = process.ring.contents(hasEnded: isFinal)
    if let times = process.facts.times { process.crashTimes.correct(&contents, times) }
    if withholdsMemory(of: process) { contents.withholdMemory() }
    // While the process lives, a record without an end is being written, and a thread may still answer.
    if !isFinal { contents.losses["torn"] = nil }
    if !isFinal { contents.losses["silentThreads"] = nil }
    return contents
  }

  /// Whether nothing of its memory is kept, whatever it has put into its ring: an operator wants it, or the process had
  /// more rights than its user and a library that does not mind that.
  func withholdsMemory(of process: AttachedProcess) -> Bool {
    !process.isStored && (process.facts.isRestricted || settings.current.noMemory.hold(for: process.facts))
  }

  private func excerpt(_ process: AttachedProcess) throws(SystemError) -> [UInt8] {
    try RingExcerpt.read(
      descriptor: process.ring.descriptor.number, withoutMemory: withholdsMemory(of: process))
  }

  /// Stores under the ring's id.
  ///
  /// When a report of another process has that id, by chance or on purpose, under one that is derived from who the
  /// process is; so is the id of a process's second report.
  private func put(
    _ raw: [UInt8], of process: AttachedProcess, isSecond: Bool = false, isFile: Bool = false,
    _ make: (String) -> CrashReport?
  ) throws -> (String, Place) {
    let facts = process.facts
    let first = isSecond ? Self.attempts : 0
    for attempt in first..<first + Self.attempts {
      let id = attempt == 0 ? facts.identity.ringID : Self.derived(facts, attempt)
      guard var report = make(id) else { return (id, .store) }
      report.timing?.stored_ns = Moment.monotonic_ns()
      do throws(StoreError) {
        return (id, try keep(report, raw: raw, of: process, isFile: isFile))
      } catch .identifierTaken {
        continue
      }
    }
    throw StoreError.identifierTaken(id: facts.identity.ringID)
  }

  static func derived(_ facts: ProcessFacts, _ attempt: Int) -> String {
    let text = "\(facts.identity.ringID) \(facts.peer.uid) \(facts.peer.pid) \(attempt)"
    return String(SHA256.hexadecimal(text).prefix(32))
  }
}

extension RingContents {
  /// What takes room goes.
  fileprivate mutating func forgetAll() {
    (records, threads, images, incidents) = ([], [], [], [])
    (breadcrumbs, annotations, protectedClasses) = ([], [:], [])
  }
}
