import CrashProtocol
import CrashReport
import CrashStore
import FoundationEssentials
import Glibc
import Synchronization

/// Implements those methods of `io.crashshield.Crashd` that have exactly one reply.
struct CrashdInterface: Sendable {
  /// The text of the interface file, which is built into the program.
  static let description = String(decoding: PackageResources.io_crashshield_Crashd_varlink, as: UTF8.self)

  var store: ReportStore
  var reanalysis: Reanalysis
  var imports: RecordImports
  var caches: SymbolCaches
  var unwinder: SnapshotUnwinder
  var pipeline: CrashPipeline
  var attach: AttachServer
  var policy: PolicyKeeper
  var ledger: Ledger
  var outage: StoreOutage
  var forwards: ForwardCounts
  var settings: LiveSettings
  var limits: Limits
  var access = AccessRule()
  /// The git commit of this build; empty if it is unknown.
  var commit = ""
  var start_ns = Moment.monotonic_ns()

  private static let defaultListLimit = 100
  /// The offsets that a call of `List` is allowed to have.
  ///
  /// The upper bound ensures that the sum of the offset and the limit is a valid SQLite integer.
  static let offsets = 0...1 << 32
  private static let defaultTimeout_ms = 10_000
  private static let longestTimeout_ms = 600_000

  static func bindReports(in table: inout HandlerTable) {
    table.bind(Methods.List.self, CrashdInterface.list)
    table.bind(Methods.Get.self, CrashdInterface.get)
    table.bind(Methods.Groups.self, CrashdInterface.groups)
    table.bind(Methods.GetGroup.self, CrashdInterface.getGroup)
    table.bind(Methods.ContrastGroup.self, CrashdInterface.contrastGroup)
    table.bind(Methods.Hours.self, CrashdInterface.hours)
    table.bind(Methods.ResolveGroup.self, CrashdInterface.resolveGroup)
    table.bind(Methods.Explain.self, CrashdInterface.explain)
    table.bind(Methods.Reanalyse.self, CrashdInterface.reanalyse)
    table.bind(Methods.Import.self, CrashdInterface.importRecord)
    table.bind(Methods.Processes.self, CrashdInterface.processes)
    table.bind(Methods.AwaitProcess.self, CrashdInterface.awaitProcess)
    table.bind(Methods.Status.self, CrashdInterface.status)
  }

  func reply(to call: VarlinkCall, from client: Client) async throws(ProtocolError) -> any Encodable & Sendable {
    if call.name == Methods.Subscribe.name { throw .expectedMore }
    guard let handler = Self.handlers[call.name] else { throw .methodNotFound(String(call.method.prefix(128))) }
    return try await handler.reply(to: call, from: client, by: self)
  }

  func list(_ query: ListQuery, _ client: Client) throws(ProtocolError) -> ReportPage {
    let limit = try checked(query.limit, "limit", in: 0...Int.max) ?? Self.defaultListLimit
    let filter = try checked(query.filter)
    let (before, after) = (try cursor(query.before), try cursor(query.after))
    return try reading { () throws(StoreError) in
      // Read the preliminary reports before the store. Otherwise, the list would lack a report that is stored between
      // the two reads.
      try store.page(
        with: preliminary, filter, visibility: client.visibility, before: before, after: after,
        isOldestFirst: query.oldestFirst ?? false, limit: min(limit, limits.listReports), counts: query.count ?? false)
    }
  }

  /// The preliminary reports of crashes that wait for their symbols.
  var preliminary: [CrashReport] { pipeline.analysis.preliminary.all }

  /// Checks the filter, and returns it with its times converted to the format of stored reports.
  func checked(_ filter: ReportFilter) throws(ProtocolError) -> ReportFilter {
    var filter = filter
    filter.pid = try checked(filter.pid, "pid", in: 0...Int(Int32.max))
    filter.since = try time(filter.since, "since")
    filter.until = try time(filter.until, "until")
    guard filter.hasGoodTags else { throw .invalidParameter("tags") }
    return filter
  }

  func groups(_ parameters: Methods.Groups.Parameters, _ client: Client) throws(ProtocolError) -> Methods.Groups.Reply {
    let limit = try checked(parameters.own.limit, "limit", in: 0...Int.max) ?? Self.defaultListLimit
    let offset = try checked(parameters.own.offset, "offset", in: Self.offsets) ?? 0
    let order = try known(parameters.own.sort, "sort", GroupQuery.Order.self) ?? .last
    var states: Set<GroupQuery.State>?
    for word in parameters.own.states ?? [] {
      guard let state = GroupQuery.State(rawValue: word) else { throw .invalidParameter("states") }
      states = (states ?? []).union([state])
    }
    let filter = try checked(parameters.shared)
    return Methods.Groups.Reply(
      groups: try reading { [states] () throws(StoreError) in
        try store.groups(
          filter, visibility: client.visibility, order: order, states: states, offset: offset,
          limit: min(limit, limits.listReports))
      })
  }

  private func known<Word: RawRepresentable<String>>(
    _ text: String?, _ name: String, _: Word.Type
  ) throws(ProtocolError) -> Word? {
    guard let text else { return nil }
    guard let word = Word(rawValue: text) else { throw .invalidParameter(name) }
    return word
  }

  func getGroup(_ parameters: Methods.GetGroup.Parameters, _ client: Client) throws(ProtocolError) -> GroupDetail {
    try reading { () throws(StoreError) in
      try store.groupDetail(String(parameters.key.prefix(64)), visibility: client.visibility)
    }
  }

  func contrastGroup(
    _ parameters: Methods.ContrastGroup.Parameters, _ client: Client
  ) throws(ProtocolError) -> GroupContrast {
    try reading { () throws(StoreError) in
      try store.contrastSample(String(parameters.key.prefix(64)), visibility: client.visibility)
    }.contrast
  }

  func hours(_ parameters: Methods.Hours.Parameters, _ client: Client) throws(ProtocolError) -> Methods.Hours.Reply {
    let keys = parameters.own.groups
    guard (keys ?? []).count <= HourCount.groupLimit else { throw .invalidParameter("groups") }
    let filter = try checked(parameters.shared)
    return Methods.Hours.Reply(
      hours: try reading { () throws(StoreError) in
        try store.hours(of: keys?.map { String($0.prefix(64)) }, filter, visibility: client.visibility)
      })
  }

  func resolveGroup(
    _ parameters: Methods.ResolveGroup.Parameters, _ client: Client
  ) throws(ProtocolError) -> Methods.ResolveGroup.Reply {
    Methods.ResolveGroup.Reply(
      key: try reading { () throws(StoreError) in
        try store.setResolved(
          parameters.resolved, group: String(parameters.key.prefix(64)), at: Moment.now().description,
          visibility: client.visibility)
      })
  }

  func get(_ parameters: Methods.Get.Parameters, _ client: Client) throws(ProtocolError) -> Methods.Get.Sent {
    if parameters.scrub == true { return try scrubbed(parameters, client) }
    let wantsRaw = parameters.raw ?? false
    let wantsStacks = parameters.stacks ?? false
    return try reading { () throws(StoreError) in
      let stored = try store.report(with: preliminary, idPrefix: parameters.id, visibility: client.visibility)
      // A report that is not stored has no raw record (copy of the ring). Do not read a raw record by the report's ID,
      // because another report could have received the same ID in the meantime.
      let wantsRecord = (wantsRaw || wantsStacks) && !stored.cursor.isUnstored
      let raw = wantsRecord ? try store.raw(id: stored.id) : nil
      var stacks: [RecordedStack]? = wantsStacks ? [] : nil
      if wantsStacks, let raw { stacks = Reanalysis.stacks(of: try stored.report, raw: raw) }
      return GetReply(
        report: stored.json, raw: wantsRaw ? raw.map { Data($0).base64EncodedString() } : nil, stacks: stacks)
    }
  }

  func explain(_ parameters: OptionalID, _ client: Client) async throws(ProtocolError) -> Explanation {
    do throws(Reanalysis.Failure) {
      let explanation = try await reanalysis.explain(
        idPrefix: parameters.id, for: client.peer.uid, visibility: client.visibility)
      return Explanation(
        id: explanation.report.id, sentence: explanation.report.diagnosis.sentence, rules: explanation.rules)
    } catch {
      throw ProtocolError(error)
    }
  }

  func reanalyse(_ parameters: OptionalID, _ client: Client) async throws(ProtocolError) -> ReanalyseReply<CrashReport>
  {
    do throws(Reanalysis.Failure) {
      let outcome = try await reanalysis.run(
        idPrefix: parameters.id, for: client.peer.uid, visibility: client.visibility)
      return ReanalyseReply(report: outcome.report, changed: outcome.hasChanged)
    } catch {
      throw ProtocolError(error)
    }
  }

  func importRecord(_ parameters: Methods.Import.Parameters, _ client: Client) async throws(ProtocolError)
    -> Methods.Import.Reply
  {
    do throws(RecordImports.Failure) {
      let (id, isNew) = try await imports.take(parameters.record, for: client.peer.uid)
      return Methods.Import.Reply(id: id, isNew: isNew)
    } catch {
      throw ProtocolError(error)
    }
  }

  func processes(_: NoParameters, _ client: Client) async throws(ProtocolError) -> Methods.Processes.Reply {
    // A process learns that crashd has accepted it before the pipeline has its entry. Wait until the pipeline has the
    // entries of all processes that attached before this call.
    await attach.settle(pid: 0)
    let processes = pipeline.attached().filter { client.visibility.includes($0.facts.peer) }
    let analysis = pipeline.analysis
    return Methods.Processes.Reply(
      processes: processes.map { ProcessSummary($0, isWithheld: analysis.withholdsMemory(of: $0)) })
  }

  func awaitProcess(
    _ parameters: Methods.AwaitProcess.Parameters, _ client: Client
  ) async throws(ProtocolError) -> ProcessOutcome {
    let pid = try checked(parameters.pid, "pid", in: 1...Int(Int32.max))
    let timeout = try checked(parameters.timeout_ms, "timeout_ms", in: 0...Self.longestTimeout_ms)
    await attach.settle(pid: Int32(pid))
    let progress = await pipeline.progress(
      pid: Int32(pid), mayRead: { client.visibility.includes($0) }, timeout_ms: timeout ?? Self.defaultTimeout_ms)
    return ProcessOutcome(
      attached: progress.isAttached, settled: progress.isSettled, reports: progress.reports)
  }

  func status(_: NoParameters, _ client: Client) async throws(ProtocolError) -> DaemonStatus {
    let visibility = client.visibility
    let processes = pipeline.count { visibility.includes($0) }
    // `Status` must also be answered during an outage of the store, because the status is most important at that time.
    if store.displacement() != nil { outage.wake() }
    let count = (try? store.count(visibility: visibility)) ?? 0
    let bytes = (try? store.sizeBytes()) ?? 0
    // Other users do not receive the totals, because the totals would reveal the activity of other users.
    let seesAll = visibility == .all
    return DaemonStatus(
      version: ProductVersion.number, pid: Int(getpid()), uptimeSeconds: uptime_s, processes: processes.all,
      ending: processes.ending, reports: count, storeBytes: seesAll ? bytes : 0, losses: losses(visibility),
      refusals: refusals(visibility), unwindings: seesAll ? await unwinder.findings : [:],
      debugInformation: seesAll ? await caches.fetches : [:], held: seesAll ? outage.count : 0,
      spooled: seesAll ? pipeline.spooler.spool.count() : nil,
      trouble: visibility == .all ? outage.sentences : outage.sentences.isEmpty ? [] : ["the store has failures"],
      access: DaemonStatus.Access(
        uid: Int(client.peer.uid), all: visibility == .all, group: access.group?.name,
        isForeign: client.isForeign ? true : nil))
  }

  func losses(_ visibility: Visibility) -> [String: Int] {
    switch visibility {
    case .all: ledger.losses
    case .user(let uid): ledger.losses(of: uid)
    }
  }

  func refusals(_ visibility: Visibility) -> [String: Int] {
    switch visibility {
    case .all: ledger.refusals
    case .user(let uid): ledger.refusals(of: uid)
    }
  }

  var uptime_s: Int { Int((Moment.monotonic_ns() - start_ns) / 1_000_000_000) }

  func cursor(_ text: String?, kind: StoreCursor.Kind = .event) throws(ProtocolError) -> StoreCursor? {
    guard let text else { return nil }
    return try reading { () throws(StoreError) in try store.cursor(text, kind: kind) }
  }

  func time(_ text: String?, _ name: String) throws(ProtocolError) -> String? {
    guard let text else { return nil }
    guard let moment = Moment(rfc3339: text) else { throw .invalidParameter(name) }
    return moment.description
  }

  func checked(_ value: Int?, _ name: String, in range: ClosedRange<Int>) throws(ProtocolError) -> Int? {
    if let value, !range.contains(value) { throw .invalidParameter(name) }
    return value
  }

  func checked(_ value: Int, _ name: String, in range: ClosedRange<Int>) throws(ProtocolError) -> Int {
    guard range.contains(value) else { throw .invalidParameter(name) }
    return value
  }

  func reading<Value>(_ body: () throws(StoreError) -> Value) throws(ProtocolError) -> Value {
    do throws(StoreError) {
      return try CPUAccounts.charging(body)
    } catch {
      if error.isCorruption { outage.notice(error) }
      throw ProtocolError(error)
    }
  }
}

extension Visibility {
  func includes(_ peer: Peer) -> Bool {
    switch self {
    case .all: true
    case .user(let uid): peer.uid == uid
    }
  }

  /// Whether a client is allowed to read the details of a process.
  ///
  /// A client that runs as the process's user is allowed to see that the process exists, even if `isRestricted` is true.
  func includes(_ facts: ProcessFacts) -> Bool {
    switch self {
    case .all: true
    case .user(let uid): facts.peer.uid == uid && !facts.isRestricted
    }
  }
}
