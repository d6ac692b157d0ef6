import CLinux
import CrashProtocol
import CrashReport
import CrashRing
import CrashStore
import FoundationEssentials
import Glibc
import LinuxSystem

/// Analyses stored raw records again, with the rules and symbols of today; one at a time for each user, because it costs
/// what a crash costs and any user may ask for it.
actor Reanalysis {
  /// Why a report stays as it is.
  enum Failure: Error, Equatable {
    case store(StoreError)
    /// There is no raw record, or it is of a ring of another version.
    case unreadable(String)
    /// Today the symbols of these builds are not there: the new report would say less.
    case symbolsGone([String])
    /// Another report took its place meanwhile: more threads of its process were read.
    case changed
    /// Another re-analysis of this user runs, or too many do.
    case busy
  }

  /// What came of it.
  struct Outcome: Sendable {
    var report: CrashReport
    var hasChanged: Bool
  }

  /// What the rules say of a stored crash.
  struct Explanation: Sendable {
    var report: CrashReport
    var rules: [CrashReport.RuleOutcome]
  }

  private let analysis: CrashAnalysis
  private var busy: Set<UInt32> = []
  private static let limit = 4

  init(_ analysis: CrashAnalysis) { self.analysis = analysis }

  /// Analyses the report whose id begins with `prefix` again and stores what it says now.
  ///
  /// Nobody who asks holds his place in line behind the crashes that are being unwound again, unless he `waits`.
  func run(
    idPrefix prefix: String?, for user: UInt32, visibility: Visibility, waits: Bool = false
  ) async throws(Failure) -> Outcome {
    try begin(user, visibility)
    defer { busy.remove(user) }
    let (before, builder, unwinding) = try await reopen(prefix, visibility, waits: waits)
    let (old, symbols) = (before.report, builder.symbols)
    guard var report = Self.report(builder, old) else { throw .unreadable("no thread's record in it is whole") }
    let missing = symbols.buildIDs.subtracting(symbols.caches.keys)
    if Self.losesNames(report, of: old) { throw .symbolsGone(missing.sorted()) }
    report.timing?.stored_ns = old.timing?.stored_ns ?? 0
    // What was lost was lost then; the copy of a ring that was still being written would count more.
    report.losses = old.losses
    report.unwinding = unwinding ?? old.unwinding
    let new = report
    report.unwinding = old.unwinding
    if report == old, new.unwinding != old.unwinding {
      // An agreement is no event, today as when the process died.
      guard try stored({ () throws(StoreError) in try analysis.store.amend(new, at: before.cursor) }) else {
        throw .changed
      }
      return Outcome(report: new, hasChanged: false)
    }
    let change = try stored { () throws(StoreError) in
      try analysis.store.put(new, raw: before.raw, replacing: before.cursor)
    }
    if change != .unchanged { analysis.hub.notify() }
    return Outcome(report: new, hasChanged: change != .unchanged)
  }

  /// Asks every rule of today about the report whose id begins with `prefix`, and stores nothing.
  func explain(
    idPrefix prefix: String?, for user: UInt32, visibility: Visibility
  ) async throws(Failure) -> Explanation {
    try begin(user, visibility)
    defer { busy.remove(user) }
    let (before, builder, _) = try await reopen(prefix, visibility, waits: false)
    let old = before.report
    if let death = old.death {
      let rules = SilentDeath(death, losses: old.losses).explanation(losses: old.losses)
      return Explanation(report: old, rules: rules)
    }
    return Explanation(report: old, rules: builder.explanation())
  }

  /// Takes the user's place; it is given back by whoever has taken it.
  private func begin(_ user: UInt32, _ visibility: Visibility) throws(Failure) {
    guard busy.count < Self.limit || visibility == .all, busy.insert(user).inserted else { throw .busy }
  }

  /// The report with what it is made of: the frames are those of a second unwinding where these are better.
  private func reopen(
    _ prefix: String?, _ visibility: Visibility, waits: Bool
  ) async throws(Failure) -> (
    (cursor: StoreCursor, report: CrashReport, raw: [UInt8]), ReportBuilder<OpenCaches>, [CrashReport.Unwinding]?
  ) {
    let before = try stored { () throws(StoreError) in
      try analysis.store.reportAndRaw(idPrefix: prefix, visibility: visibility)
    }
    let process = try Self.process(of: before.report, raw: before.raw)
    var (contents, symbols) = await analysis.openAgain(process)
    let second: SnapshotUnwinder.Outcome?
    do throws(SnapshotUnwinder.Busy) {
      second = try await analysis.unwinder.unwind(contents, for: process.facts.peer.uid, waits: waits)
    } catch {
      throw .busy
    }
    // Tables may be gone that it was unwound with.
    let lost = Self.better(before.report.unwinding).subtracting(Self.better(second?.findings))
    guard lost.isEmpty else {
      throw .unreadable("its frames came from a second unwinding, which is not possible today")
    }
    if let second, second.isBetter {
      contents = second.contents
      symbols = await analysis.openCaches(for: contents, of: process)
    }
    let builder = await analysis.builder(contents, of: process, symbols, old: before.report)
    return (before, builder, second?.findings)
  }

  /// The threads that have the frames of a second unwinding.
  private static func better(_ unwinding: [CrashReport.Unwinding]?) -> Set<Int> {
    Set((unwinding ?? []).filter { $0.shown == .snapshot }.map(\.tid))
  }

  /// A silent death stays one: how the process ended is in its report alone.
  private static func report(_ builder: ReportBuilder<OpenCaches>, _ old: CrashReport) -> CrashReport? {
    var report: CrashReport?
    if let death = old.death, let time = Moment(rfc3339: old.time) {
      report = builder.report(id: old.id, of: SilentDeath(death, losses: old.losses), at: time)
    } else {
      report = builder.report(id: old.id)
    }
    report?.keepTimes(of: old)
    return report
  }

  /// The process as it was: the ring's word for itself, the report's for what only crashd could know.
  static func process(of report: CrashReport, raw: [UInt8]) throws(Failure) -> AttachedProcess {
    guard let ring = RingExcerpt.unpack(raw) else {
      throw .unreadable(raw.isEmpty ? "it has no raw record" : "its raw record is of another version")
    }
    guard let uid = UInt32(exactly: report.process.uid), let pid = Int32(exactly: report.process.pid) else {
      throw .unreadable("its process has an impossible id")
    }
    do {
      let file = try MemoryFile(size: ring.count)
      try file.write(ring, at: 0)
      let source = try RingSource(file: file.descriptor)
      var facts = ProcessFacts(
        source.contents(), peer: Peer(pid: pid, uid: uid), unit: report.process.unit)
      facts.isRestricted = report.process.isRestricted == true
      facts.isPIDClaimed = report.process.isPIDClaimed == true
      return AttachedProcess(number: 0, facts: facts, ring: source, isStored: true)
    } catch {
      throw .unreadable("\(error)")
    }
  }

  /// The process of a raw record that nothing else is known of; its owner is crashd's own user.
  static func process(ofOrphan raw: [UInt8]) -> AttachedProcess? {
    guard let ring = RingExcerpt.unpack(raw) else { return nil }
    do {
      let file = try MemoryFile(size: ring.count)
      try file.write(ring, at: 0)
      let source = try RingSource(file: file.descriptor)
      let contents = source.contents()
      let facts = ProcessFacts(contents, peer: Peer(pid: contents.identity.pid, uid: geteuid()), unit: nil)
      return AttachedProcess(number: 0, facts: facts, ring: source, isStored: true)
    } catch {
      return nil
    }
  }

  /// What the raw record of a report has of the stacks of its crashed threads; nothing when it cannot be read.
  static func stacks(of report: CrashReport, raw: [UInt8]) -> [RecordedStack] {
    guard let process = try? process(of: report, raw: raw) else { return [] }
    return process.ring.contents().records.filter { !$0.stack.isEmpty }.map { record in
      RecordedStack(tid: Int(record.tid), start: Address(record.stackStart), bytes: record.stack)
    }
  }

  /// Whether a place that had a name has none now.
  private static func losesNames(_ new: CrashReport, of old: CrashReport) -> Bool {
    let named = { (report: CrashReport) in
      Set(report.threads.flatMap { $0.frames.filter { !$0.function.isEmpty }.map(\.address) })
    }
    let nameless = Set(new.threads.flatMap { $0.frames.map(\.address) }).subtracting(named(new))
    return !nameless.isDisjoint(with: named(old))
  }

  private func stored<Value>(_ body: () throws(StoreError) -> Value) throws(Failure) -> Value {
    do throws(StoreError) {
      return try body()
    } catch {
      if case .changedMeanwhile = error { throw .changed }
      throw .store(error)
    }
  }
}
