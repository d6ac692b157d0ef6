import CLinux
import CrashProtocol
import CrashReport
import CrashRing
import CrashStore
import FoundationEssentials
import Glibc
import LinuxSystem

/// Analyzes stored raw records (copies of rings) again with the current rules and symbols.
///
/// Each user is allowed to run one re-analysis at a time. A re-analysis costs as much as the analysis of a crash, and
/// any user is allowed to request it.
actor Reanalysis {
  /// The reason why a re-analysis left the report unchanged.
  enum Failure: Error, Equatable {
    case store(StoreError)
    /// The raw record is missing, or has another version of the ring format.
    case unreadable(String)
    /// The symbols of the given builds no longer exist, so the new report would have fewer names than the stored
    /// report.
    case symbolsGone([String])
    /// The report changed during the re-analysis, for example because crashd read more threads of its process.
    case changed
    /// Another re-analysis of the same user is running, or too many re-analyses of all users are running.
    case busy
  }

  /// The result of a successful re-analysis.
  struct Outcome: Sendable {
    var report: CrashReport
    var hasChanged: Bool
  }

  /// The results of all diagnosis rules for a stored crash.
  struct Explanation: Sendable {
    var report: CrashReport
    var rules: [CrashReport.RuleOutcome]
  }

  private let analysis: CrashAnalysis
  private var busy: Set<UInt32> = []
  private static let limit = 4

  init(_ analysis: CrashAnalysis) { self.analysis = analysis }

  /// Finds the report whose ID begins with `prefix`, analyzes its raw record again, and stores the result.
  ///
  /// A re-analysis includes an unwind cross-check, in which libunwind unwinds the recorded stacks once more. If `waits`
  /// is false and the call would have to wait for other cross-checks, the call fails with `busy`.
  func run(
    idPrefix prefix: String?, for user: UInt32, visibility: Visibility, waits: Bool = false
  ) async throws(Failure) -> Outcome {
    try begin(user, visibility)
    defer { busy.remove(user) }
    let (before, builder, unwinding) = try await reopen(prefix, visibility, waits: waits)
    let (old, symbols) = (before.report, builder.symbols)
    guard var report = Self.report(builder, old) else { throw .unreadable("no thread record in it is complete") }
    let missing = symbols.buildIDs.subtracting(symbols.caches.keys)
    if Self.losesNames(report, of: old) { throw .symbolsGone(missing.sorted()) }
    report.timing?.stored_ns = old.timing?.stored_ns ?? 0
    // Keep the numbers of lost records that the first reading found. The stored copy could have been made while the
    // process wrote to the ring, so a reading of the copy would find more losses.
    report.losses = old.losses
    report.unwinding = unwinding ?? old.unwinding
    let new = report
    report.unwinding = old.unwinding
    if report == old, new.unwinding != old.unwinding {
      // If both unwinders agree, crashd sends no event to subscribers.
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

  /// Finds the report whose ID begins with `prefix`, and evaluates every current diagnosis rule for its crash.
  ///
  /// The stored report is not changed.
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

  /// Marks the user as busy with a re-analysis.
  ///
  /// The caller removes the mark when the re-analysis ends.
  private func begin(_ user: UInt32, _ visibility: Visibility) throws(Failure) {
    guard busy.count < Self.limit || visibility == .all, busy.insert(user).inserted else { throw .busy }
  }

  /// Reads the report and its raw record.
  ///
  /// The report builder uses the frames of an unwind cross-check where these frames are better than the recorded
  /// frames.
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
      // Skip the cross-check of a report from a record line (a crash record as text), because a record line contains
      // only a part of the stack.
      second =
        process.facts.isImported
        ? nil : try await analysis.unwinder.unwind(contents, for: process.facts.peer.uid, waits: waits)
    } catch {
      throw .busy
    }
    // The unwind tables that the earlier cross-check used possibly no longer exist, so the better frames of that
    // cross-check would be lost.
    let lost = Self.better(before.report.unwinding).subtracting(Self.better(second?.findings))
    guard lost.isEmpty else {
      throw .unreadable("its frames come from an unwind cross-check, which is not possible now")
    }
    if let second, second.isBetter {
      contents = second.contents
      symbols = await analysis.openCaches(for: contents, of: process)
    }
    let builder = await analysis.builder(contents, of: process, symbols, old: before.report)
    return (before, builder, second?.findings)
  }

  /// Returns the IDs of the threads whose frames come from an unwind cross-check.
  private static func better(_ unwinding: [CrashReport.Unwinding]?) -> Set<Int> {
    Set((unwinding ?? []).filter { $0.shown == .snapshot }.map(\.tid))
  }

  /// Builds the new report, either of a crash or of an unreported exit (an exit without a crash record).
  ///
  /// An unreported exit needs a separate call of the builder, because the ring does not contain how the process ended.
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

  /// Reconstructs the process as it was at the time of the crash, from the raw record.
  ///
  /// Facts that are not in the ring are copied from the report.
  static func process(of report: CrashReport, raw: [UInt8]) throws(Failure) -> AttachedProcess {
    guard let ring = RingExcerpt.unpack(raw) else {
      throw .unreadable(raw.isEmpty ? "it has no raw record" : "its raw record has another version")
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
      facts.isImported = report.source == .recordLine
      return AttachedProcess(number: 0, facts: facts, ring: source, isStored: true)
    } catch {
      throw .unreadable("\(error)")
    }
  }

  /// Reconstructs the process of a raw record (copy of a ring) whose report is lost.
  ///
  /// The owner of the result is crashd's own user.
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

  /// Returns the raw stacks of a report's crashed threads; empty if the raw record cannot be read.
  static func stacks(of report: CrashReport, raw: [UInt8]) -> [RecordedStack] {
    guard let process = try? process(of: report, raw: raw) else { return [] }
    return process.ring.contents().records.filter { !$0.stack.isEmpty }.map { record in
      RecordedStack(tid: Int(record.tid), start: Address(record.stackStart), bytes: record.stack)
    }
  }

  /// Whether the new report lacks the name of an address that had a name in the old report.
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
