import CrashReport
import CrashRing
import CrashStore
import LinuxSystem

/// Imports crashes from record lines (crash records as text), which processes printed because they could not connect to
/// a crashd.
///
/// crashd imports one line of a user at a time, and lines of at most four users at once. Further calls wait.
struct RecordImports: Sendable {
  /// Why crashd did not store a record line.
  enum Failure: Error {
    case line(RecordLineError)
    case store(StoreError)
    case system(String)
  }

  private let analysis: CrashAnalysis
  private let turns: FairSemaphore

  init(_ analysis: CrashAnalysis) {
    self.analysis = analysis
    turns = FairSemaphore(PermitLimit(total: 4, perUser: 1), analysis.limits.accounts)
  }

  /// Stores the crash that a record line contains, as a crash of `user`, unless the store already has the crash.
  ///
  /// - Returns: The ID of the report, and whether the call stored it.
  func take(_ text: String, for user: UInt32) async throws(Failure) -> (id: String, isNew: Bool) {
    // Import one line of a user at a time, so that two lines cannot get the same new ID.
    let result = await turns.withPermit(for: user) { _ in
      do throws(Failure) {
        return Result<(id: String, isNew: Bool), Failure>.success(try await taken(text, for: user))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  private func taken(_ text: String, for user: UInt32) async throws(Failure) -> (id: String, isNew: Bool) {
    var (process, moment) = try CPUAccounts.charging { () throws(Failure) in try Self.process(of: text, for: user) }
    // The report normally has the ring's ID, which the line contains. A process can survive a crash and print another
    // line with the same ID, and another user could have imported the line. If the store already has another report
    // with the ring's ID, the report gets an ID that depends on the user and the crash.
    for id in [process.facts.identity.ringID, CrashAnalysis.derived(process.facts, Int(truncatingIfNeeded: moment))] {
      let known = try CPUAccounts.charging { () throws(Failure) in try relation(of: process, moment, toReport: id) }
      switch known {
      case .same: return (id, false)
      case .other: continue
      case .none:
        var facts = process.facts
        facts.identity.ringID = id
        process = AttachedProcess(number: 0, facts: facts, ring: process.ring)
        return try await store(process, as: id)
      }
    }
    throw .system("the store has another report with the ID of this crash")
  }

  private func store(_ process: AttachedProcess, as id: String) async throws(Failure) -> (id: String, isNew: Bool) {
    switch await analysis.analyse(ImportedRecord(process: process)) {
    case .stored(let id, _):
      return (id, try isStored(id))
    case .held(let id, _): return (id, true)
    case .nothingNew: return (id, false)
    case .unanswered(let error): throw .store(error)
    case .failed: throw .system("the report could not be stored: see crashd's log")
    }
  }

  /// Whether the store now has a report.
  ///
  /// If a user has removed the report, the store does not store it again.
  private func isStored(_ id: String) throws(Failure) -> Bool {
    do throws(StoreError) {
      _ = try analysis.store.report(idPrefix: id, visibility: .all)
      return true
    } catch {
      if case .noSuchReport = error { return false }
      throw .store(error)
    }
  }

  /// The relation of a stored report to a crash.
  private enum Relation {
    /// There is no report with the ID.
    case none
    /// The report is about the crash.
    case same
    /// The report is about another crash, or belongs to another user.
    case other
  }

  private func relation(
    of process: AttachedProcess, _ moment: UInt64, toReport id: String
  ) throws(Failure) -> Relation {
    let (old, raw): (CrashReport, [UInt8])
    do throws(StoreError) {
      (_, old, raw) = try analysis.store.reportAndRaw(idPrefix: id, visibility: .all)
    } catch {
      if case .noSuchReport = error { return .none }
      throw .store(error)
    }
    guard old.process.uid == Int(process.facts.peer.uid) else { return .other }
    do {
      let before = try Reanalysis.process(of: old, raw: raw)
      return before.ring.contents().records.contains { $0.time_ns == moment } ? .same : .other
    } catch {
      // The report has no raw record, or a raw record of another version. Compare only the time of the first crash,
      // because nothing else is known.
      return old.time == Moment(nanoseconds: moment).description ? .same : .other
    }
  }

  /// Returns the process that printed a line, and the time of its crash, as the line states them.
  private static func process(
    of text: String, for user: UInt32
  ) throws(Failure) -> (process: AttachedProcess, moment: UInt64) {
    let line: RecordLine
    let contents: RingContents
    do throws(RecordLineError) {
      line = try RecordLine(text)
      contents = try line.contents()
    } catch {
      if case .ring(.systemCall) = error { throw .system(error.description) }
      throw .line(error)
    }
    do {
      let file = try MemoryFile(size: RingVersion.current.bytes)
      for piece in line.pieces { try file.write(piece.bytes, at: piece.offset) }
      try file.seal()
      // The kernel confirmed neither the process nor its user. The report therefore belongs to the caller.
      var facts = ProcessFacts(contents, peer: Peer(pid: contents.identity.pid, uid: user), unit: nil)
      (facts.isPIDClaimed, facts.isImported, facts.cut) = (true, true, line.cut)
      // Do not limit the times, because the crash could be older than the last boot of this machine, or could have
      // happened on another machine.
      facts.times = TimeBounds()
      let moment = contents.records.map(\.time_ns).max() ?? 0
      let ring = try RingSource(memory: file.descriptor)
      return (AttachedProcess(number: 0, facts: facts, ring: ring), moment)
    } catch {
      throw .system("\(error)")
    }
  }
}

/// The ring that crashd rebuilt from a record line (a crash record as text).
///
/// During an outage of the store, crashd does not hold the report in memory, because the caller of `Import` can repeat
/// the call.
private struct ImportedRecord: CrashSource {
  let process: AttachedProcess
  var seen: CrashAnalysis.Seen? { nil }
  var isFinal: Bool { true }

  /// Counts nothing, because this crashd lost nothing.
  func count(_ losses: [String: Int], isSettled: Bool, in ledger: Ledger) {}

  func hold(_ report: StoreOutage.Held, in outage: StoreOutage, because error: StoreError) -> Bool { false }

  func outcome(of error: StoreError) -> CrashAnalysis.Outcome? { error.isOutage ? .unanswered(error) : nil }
}
