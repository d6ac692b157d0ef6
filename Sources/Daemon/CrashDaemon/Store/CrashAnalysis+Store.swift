import CrashReport
import CrashRing
import CrashStore
import Logging

// Implements the third step of the analysis of a crash: storing the report, or holding it in memory during an outage of
// the store.
extension CrashAnalysis {
  /// Where the report of a crash is: in the store, or in memory.
  enum Place: Sendable {
    case store
    case memory
  }

  /// The number of report IDs that crashd tries for one report.
  static let attempts = 8

  /// Builds the report of a snapshot, and stores it.
  @inline(never)
  func commit(_ snapshot: Snapshot, _ symbols: OpenCaches, of source: some CrashSource) async -> Outcome {
    let process = source.process
    // A process withdraws a record if one of its own handlers repairs the fault, so the ring possibly no longer
    // contains a crash.
    guard !snapshot.contents.records.isEmpty else { return .nothingNew }
    var contents = snapshot.contents
    if var requests = snapshot.requests {
      // During a drain, in which the process finishes its other requests, these numbers change. Therefore, store the
      // numbers that this reading found.
      let counts = contents.requests.counts
      if contents.containment?.drain != nil, !counts.isEmpty { requests.counts = counts }
      contents.requests = requests
    }
    var builder = await builder(contents, of: process, symbols)
    if let stored = storedContext(of: process.facts) { builder.context = stored.added(to: builder.context) }
    do {
      var made: CrashReport?
      let (id, place) = try put(snapshot.raw, of: source) { id in
        made = builder.report(id: id)
        return made
      }
      source.count(snapshot.losses, isSettled: true, in: ledger)
      // The policy does not count the crash of an imported record line (a crash record as text), because the crash
      // could have happened on another machine, or the line could be forged.
      if let made, made.source == nil, PolicyKeeper.counts(made) { await policy?.stored(made, of: process.facts) }
      guard place == .store else { return .held(id: id, seen: snapshot.seen) }
      let late = symbols.gaps.filter { $0.value.mayFill }.keys
      if !late.isEmpty { await caches.remember(LateReport(id: id, user: process.facts.peer.uid), until: late) }
      return .stored(id: id, seen: snapshot.seen)
    } catch {
      return (error as? StoreError).flatMap(source.outcome(of:)) ?? notStored(process, error)
    }
  }

  /// Returns the context in the stored report of the process's ring; nil if there is no such report.
  ///
  /// The stored context is preferred, because a later reading of the ring has less information about the time of the
  /// crash. For example, the process and its memory possibly no longer exist after a restart of crashd.
  private func storedContext(of facts: ProcessFacts) -> ProcessContext? {
    // Ignore an error here. An error that persists occurs again when the report is stored, and is reported at that
    // time.
    guard let old = try? store.report(idPrefix: facts.identity.ringID).report else { return nil }
    return old.process.uid == Int(facts.peer.uid) ? ProcessContext(old) : nil
  }

  /// Stores a report under the ID of its ring.
  ///
  /// If a report of another process already has the ring's ID, by chance or on purpose, a new ID is derived from the
  /// identity of the process. The second report of the same process also gets a derived ID.
  func put(
    _ raw: [UInt8], of source: some CrashSource, isSecond: Bool = false, _ make: (String) -> CrashReport?
  ) throws -> (String, Place) {
    let facts = source.process.facts
    let first = isSecond ? Self.attempts : 0
    for attempt in first..<first + Self.attempts {
      let id = attempt == 0 ? facts.identity.ringID : Self.derived(facts, attempt)
      guard var report = make(id) else { return (id, .store) }
      report.timing?.stored_ns = Moment.monotonic_ns()
      do throws(StoreError) {
        return (id, try keep(report, raw: raw, of: source))
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

  /// Stores a report, and notifies subscribers.
  ///
  /// During an outage of the store, the source can hold the report in memory instead.
  /// - Throws: `StoreError`. The error of an outage is thrown only if the source did not hold the report.
  private func keep(
    _ report: CrashReport, raw: [UInt8], of source: some CrashSource
  ) throws(StoreError) -> Place {
    let facts = source.process.facts
    do throws(StoreError) {
      if try store.put(report, raw: raw, knownAs: Int(facts.identity.pid)) == .unchanged { return .store }
    } catch {
      guard error.isOutage else { throw error }
      let item = StoreOutage.Held(
        report: report, raw: raw, owner: facts.peer, process: facts.identity.name, ownPID: Int(facts.identity.pid),
        keptName: source.process.keptName)
      guard source.hold(item, in: outage, because: error) else { throw error }
      return .memory
    }
    hub.notify()
    ledger.report(report.id, of: facts.peer, process: facts.identity.name, sentence: report.diagnosis.sentence)
    return .store
  }

  func notStored(_ process: AttachedProcess, _ error: any Error) -> Outcome {
    logger.error("cannot store the report of '\(process.facts.identity.name)' (\(process.facts.peer)): \(error)")
    ledger.lose(["store": 1], of: process.facts.peer, process: process.facts.identity.name)
    return .failed
  }

  /// Rebuilds a lost report from its raw record (the copy of the ring), which the store still has.
  ///
  /// The lost report contained the verified owner, but the owner in the ring is not verified. Therefore, only clients
  /// with access to all reports can read the rebuilt report.
  /// - Returns: Whether the store now has the report.
  func restore(_ orphan: ReportStore.Orphan) async -> Bool {
    guard let process = Reanalysis.process(ofOrphan: orphan.raw) else { return false }
    let (contents, symbols) = await openAgain(process)
    var builder = ReportBuilder(contents, process: process.facts, symbols: symbols)
    builder.noteHistory()
    guard !contents.records.isEmpty, let report = builder.report(id: orphan.id) else { return false }
    do throws(StoreError) {
      return try store.put(report, raw: orphan.raw) != .unchanged
    } catch {
      logger.warning("cannot store rebuilt report \(orphan.id): \(error)")
      return false
    }
  }
}
