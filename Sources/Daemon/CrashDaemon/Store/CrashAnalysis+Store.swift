import CrashReport
import CrashRing
import CrashStore
import Logging

// The third step of a crash: storing the report, or holding it in memory during an outage of the store.
extension CrashAnalysis {
  /// Where a report was put.
  enum Place: Sendable {
    case store
    case memory
  }

  /// How many ids are tried for one report.
  static let attempts = 8

  /// Builds the report of a snapshot, and stores it.
  @inline(never)
  func commit(_ snapshot: Snapshot, _ symbols: OpenCaches, of source: some CrashSource) async -> Outcome {
    let process = source.process
    // A process can withdraw its records, which leaves nothing to report.
    guard !snapshot.contents.records.isEmpty else { return .nothingNew }
    var builder = await builder(snapshot.contents, of: process, symbols)
    if let stored = storedContext(of: process.facts) { builder.context = stored.added(to: builder.context) }
    do {
      var made: CrashReport?
      let (id, place) = try put(snapshot.raw, of: source) { id in
        made = builder.report(id: id)
        return made
      }
      source.count(snapshot.losses, isSettled: true, in: ledger)
      if let made, PolicyKeeper.counts(made) { await policy?.stored(made, of: process.facts) }
      guard place == .store else { return .held(id: id, seen: snapshot.seen) }
      let late = symbols.gaps.filter { $0.value.mayFill }.keys
      if !late.isEmpty { await caches.remember(LateReport(id: id, user: process.facts.peer.uid), until: late) }
      return .stored(id: id, seen: snapshot.seen)
    } catch {
      return (error as? StoreError).flatMap(source.outcome(of:)) ?? notStored(process, error)
    }
  }

  /// Returns what the stored report of a ring records about its process.
  ///
  /// A later reading has less information about the time of the crash. After a restart of crashd, for example, the
  /// memory of the process may no longer exist.
  private func storedContext(of facts: ProcessFacts) -> ProcessContext? {
    // An error is ignored here, because storing the report meets the same error and reports it.
    guard let old = try? store.report(idPrefix: facts.identity.ringID).report else { return nil }
    return old.process.uid == Int(facts.peer.uid) ? ProcessContext(old) : nil
  }

  /// Stores a report under the ring's id.
  ///
  /// If a report of another process already has that id, by chance or on purpose, the id is derived from the identity
  /// of the process. The id of a process's second report is also derived.
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
  /// - Throws: `StoreError`. An outage is thrown only if the source keeps the ring, or if memory has no room for the
  ///   report.
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

  /// Rebuilds the report of a raw record that has lost its report.
  ///
  /// The owner was lost with the report, and the owner that the ring states is not verified. Only users who may read
  /// everything can read the new report.
  /// - Returns: Whether the report exists now.
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
