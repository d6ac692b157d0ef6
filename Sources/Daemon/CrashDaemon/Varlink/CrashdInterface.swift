import CrashReport
import CrashStore
import FoundationEssentials
import Glibc
import Synchronization

/// `io.crashshield.Crashd`: the methods with one reply.
struct CrashdInterface: Sendable {
  static let name = "io.crashshield.Crashd"
  /// The interface file, built into the program.
  static let description = String(decoding: PackageResources.io_crashshield_Crashd_varlink, as: UTF8.self)

  var store: ReportStore
  var reanalysis: Reanalysis
  var caches: SymbolCaches
  var unwinder: SnapshotUnwinder
  var pipeline: CrashPipeline
  var attach: AttachServer
  var policy: PolicyKeeper
  var ledger: Ledger
  var trouble: StoreTrouble
  var forwards: ForwardCounts
  var settings: LiveSettings
  var limits: Limits
  var access = AccessRule()
  var start_ns = Moment.monotonic_ns()

  private static let defaultListLimit = 100
  /// SQLite adds it to a limit.
  static let mostOffset: Int64 = 1 << 32
  private static let defaultTimeout_ms = 10_000
  private static let longestTimeout_ms: Int64 = 600_000

  func reply(to call: VarlinkCall, from client: Client) async throws(VarlinkError) -> any Encodable & Sendable {
    let visibility = client.visibility
    return switch call.name {
    case "List": try list(call, visibility)
    case "Groups": try groups(call, visibility)
    case "ResolveGroup": try resolveGroup(call, visibility)
    case "Reanalyse": try await reanalyse(call, from: client)
    case "Ack": try acknowledge(call, from: client)
    case "Cursor": try cursor(call, from: client)
    case "Subscribers": try subscribers(call, visibility)
    case "Unsubscribe": try forget(call, from: client)
    case "Explain": try await explain(call, from: client)
    case "Get": try get(call, visibility)
    case "Processes": try await processes(call, visibility)
    case "Incidents": try await incidents(call, visibility)
    case "TopIncidents": try await topIncidents(call, visibility)
    case "ProtectedClasses": try await protectedClasses(call, visibility)
    case "DanglingPolicies": try await danglingPolicies(call, visibility)
    case "DanglingClasses": try await danglingClasses(call, visibility)
    case "DanglingEvents": try await danglingEvents(call, visibility)
    case "DanglingProtect": try await danglingProtect(call, visibility)
    case "DanglingRelease": try await danglingRelease(call, visibility)
    case "GuardModes": try await guardModes(call, visibility)
    case "GuardSet": try await guardSet(call, visibility)
    case "PolicySet": try await policySet(call, visibility)
    case "AwaitProcess": try await awaitProcess(call, visibility)
    case "Status": try await status(call, client)
    case "Metrics": try await metrics(call, visibility)
    case "Prune": try await prune(call, visibility)
    case "Remove": try remove(call, visibility)
    case "Subscribe": throw .expectedMore
    default: throw .methodNotFound(String(call.method.prefix(128)))
    }
  }

  private func list(_ call: VarlinkCall, _ visibility: Visibility) throws(VarlinkError) -> ListReply {
    let parameters = try VarlinkParameters(
      call, known: Self.filterNames.union(["limit", "before", "after", "oldestFirst", "count"]))
    let limit = try parameters.int("limit", in: 0...Int64.max) ?? Self.defaultListLimit
    let filter = try filter(parameters)
    let (before, after) = (try cursor("before", parameters), try cursor("after", parameters))
    let isOldestFirst = try parameters.bool("oldestFirst") ?? false
    let counts = try parameters.bool("count") ?? false
    let page = try reading { () throws(StoreError) in
      // Read first: none is missing that is stored meanwhile.
      try store.page(
        with: preliminary, filter, visibility: visibility, before: before, after: after, isOldestFirst: isOldestFirst,
        limit: min(limit, limits.listReports), counts: counts)
    }
    return ListReply(reports: page.reports.map { ListReply.Summary($0) }, more: page.more)
  }

  /// Those of crashes that wait for their symbols.
  var preliminary: [CrashReport] { pipeline.analysis.preliminary.all }

  static let filterNames: Set = ["pid", "name", "group", "unit", "signal", "executable", "since", "until"]

  func filter(_ parameters: VarlinkParameters) throws(VarlinkError) -> ReportFilter {
    ReportFilter(
      pid: try parameters.int("pid", in: 0...Int64(Int32.max)), name: try parameters.string("name"),
      group: try parameters.string("group"), unit: try parameters.string("unit"),
      signal: try parameters.string("signal"), executable: try parameters.string("executable"),
      since: try time("since", parameters), until: try time("until", parameters))
  }

  private func groups(_ call: VarlinkCall, _ visibility: Visibility) throws(VarlinkError) -> GroupsReply {
    let parameters = try VarlinkParameters(
      call, known: Self.filterNames.union(["limit", "offset"]))
    let limit = try parameters.int("limit", in: 0...Int64.max) ?? Self.defaultListLimit
    let offset = try parameters.int("offset", in: 0...Self.mostOffset) ?? 0
    let filter = try filter(parameters)
    let groups = try reading { () throws(StoreError) in
      try store.groups(filter, visibility: visibility, offset: offset, limit: min(limit, limits.listReports))
    }
    return GroupsReply(groups: groups.map { GroupsReply.Group($0) })
  }

  private func resolveGroup(_ call: VarlinkCall, _ visibility: Visibility) throws(VarlinkError) -> ResolveGroupReply {
    let parameters = try VarlinkParameters(call, known: ["key", "resolved"])
    let prefix = try parameters.required("key", parameters.string("key"))
    let isResolved = try parameters.required("resolved", parameters.bool("resolved"))
    let key = try reading { () throws(StoreError) in
      try store.setResolved(
        isResolved, group: String(prefix.prefix(64)), at: Moment.now().description, visibility: visibility)
    }
    return ResolveGroupReply(key: key)
  }

  private func get(
    _ call: VarlinkCall, _ visibility: Visibility
  ) throws(VarlinkError) -> any Encodable & Sendable {
    let parameters = try VarlinkParameters(call, known: ["id", "raw", "stacks", "scrub"])
    if try parameters.bool("scrub") == true { return try scrubbed(parameters, visibility) }
    let prefix = try parameters.string("id")
    let wantsRaw = try parameters.bool("raw") ?? false
    let wantsStacks = try parameters.bool("stacks") ?? false
    return try reading { () throws(StoreError) in
      let report = try store.report(with: preliminary, idPrefix: prefix, visibility: visibility)
      // Of a report that is not stored there is no record; another report may have its id meanwhile.
      let wantsRecord = (wantsRaw || wantsStacks) && report.isPreliminary != true
      let raw = wantsRecord ? try store.raw(id: report.id) : nil
      return GetReply(
        report: report, raw: wantsRaw ? raw.map { Data($0).base64EncodedString() } : nil,
        stacks: wantsStacks ? raw.map { Reanalysis.stacks(of: report, raw: $0) } ?? [] : nil)
    }
  }

  private func explain(_ call: VarlinkCall, from client: Client) async throws(VarlinkError) -> ExplainReply {
    let parameters = try VarlinkParameters(call, known: ["id"])
    let prefix = try parameters.string("id")
    do throws(Reanalysis.Failure) {
      let explanation = try await reanalysis.explain(
        idPrefix: prefix, for: client.peer.uid, visibility: client.visibility)
      return ExplainReply(
        id: explanation.report.id, sentence: explanation.report.diagnosis.sentence, rules: explanation.rules)
    } catch {
      throw VarlinkError(error)
    }
  }

  private func reanalyse(
    _ call: VarlinkCall, from client: Client
  ) async throws(VarlinkError) -> ReanalyseReply {
    let parameters = try VarlinkParameters(call, known: ["id"])
    let prefix = try parameters.string("id")
    do throws(Reanalysis.Failure) {
      let outcome = try await reanalysis.run(
        idPrefix: prefix, for: client.peer.uid, visibility: client.visibility)
      return ReanalyseReply(report: outcome.report, changed: outcome.hasChanged)
    } catch {
      throw VarlinkError(error)
    }
  }

  private func processes(_ call: VarlinkCall, _ visibility: Visibility) async throws(VarlinkError) -> ProcessesReply {
    _ = try VarlinkParameters(call, known: [])
    let processes = pipeline.attached().filter { visibility.includes($0.facts.peer) }
    let analysis = pipeline.analysis
    return ProcessesReply(
      processes: processes.map { ProcessesReply.Process($0, isWithheld: analysis.withholdsMemory(of: $0)) })
  }

  private func awaitProcess(
    _ call: VarlinkCall, _ visibility: Visibility
  ) async throws(VarlinkError) -> AwaitProcessReply {
    let parameters = try VarlinkParameters(call, known: ["pid", "timeout_ms"])
    let pid = try parameters.required("pid", parameters.int("pid", in: 1...Int64(Int32.max)))
    let timeout = try parameters.int("timeout_ms", in: 0...Self.longestTimeout_ms) ?? Self.defaultTimeout_ms
    await attach.settle(pid: Int32(pid))
    let progress = await pipeline.progress(
      pid: Int32(pid), mayRead: { visibility.includes($0) }, timeout_ms: timeout)
    return AwaitProcessReply(
      attached: progress.isAttached, settled: progress.isSettled, reports: progress.reports)
  }

  private func status(_ call: VarlinkCall, _ client: Client) async throws(VarlinkError) -> StatusReply {
    let visibility = client.visibility
    _ = try VarlinkParameters(call, known: [])
    let processes = pipeline.count { visibility.includes($0) }
    // It answers also when the store does not: that is when it is asked.
    if store.displacement() != nil { trouble.wake() }
    let count = (try? store.count(visibility: visibility)) ?? 0
    let bytes = (try? store.sizeBytes()) ?? 0
    // Totals show what other users do.
    let seesAll = visibility == .all
    return StatusReply(
      version: Daemon.version, pid: Int(getpid()),
      uptime_s: uptime_s, processes: processes.all, ending: processes.ending, reports: count,
      storeBytes: seesAll ? bytes : 0, losses: losses(visibility), refusals: refusals(visibility),
      unwindings: seesAll ? await unwinder.findings : [:], debugInformation: seesAll ? await caches.fetches : [:],
      held: seesAll ? trouble.count : 0,
      spooled: seesAll ? pipeline.spooler.spool.count() : nil,
      trouble: visibility == .all ? trouble.sentences : trouble.sentences.isEmpty ? [] : ["the store is in trouble"],
      access: StatusReply.Access(
        uid: Int(client.peer.uid), all: visibility == .all, group: access.group?.name))
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

  /// Checks the cursor's form; the store checks the rest.
  func cursor(_ name: String, _ parameters: VarlinkParameters) throws(VarlinkError) -> StoreCursor? {
    guard let text = try parameters.string(name) else { return nil }
    guard let cursor = StoreCursor(text) else { throw VarlinkError(.invalidCursor(String(text.prefix(64)))) }
    return cursor
  }

  func time(_ name: String, _ parameters: VarlinkParameters) throws(VarlinkError) -> String? {
    guard let text = try parameters.string(name) else { return nil }
    guard let moment = Moment(rfc3339: text) else { throw .invalidParameter(name) }
    return moment.description
  }

  func reading<Value>(_ body: () throws(StoreError) -> Value) throws(VarlinkError) -> Value {
    do throws(StoreError) {
      return try CPUAccounts.charging(body)
    } catch {
      if error.isCorruption { trouble.notice(error) }
      throw VarlinkError(error)
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

  /// What is seen of a process beyond that it is there.
  func includes(_ facts: ProcessFacts) -> Bool {
    switch self {
    case .all: true
    case .user(let uid): facts.peer.uid == uid && !facts.isRestricted
    }
  }
}
