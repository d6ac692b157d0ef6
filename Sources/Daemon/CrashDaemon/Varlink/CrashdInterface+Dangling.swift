import CrashProtocol
import CrashReport
import CrashStore
import DanglingStatistics
import FoundationEssentials

/// Implements the interface methods for use-after-free protection.
extension CrashdInterface {
  static func bindDangling(in table: inout HandlerTable) {
    table.bind(Methods.DanglingPolicies.self, CrashdInterface.danglingPolicies)
    table.bind(Methods.DanglingClasses.self, CrashdInterface.danglingClasses)
    table.bind(Methods.DanglingEvents.self, CrashdInterface.danglingEvents)
    table.bind(Methods.DanglingProtect.self, CrashdInterface.danglingProtect)
    table.bind(Methods.DanglingRelease.self, CrashdInterface.danglingRelease)
    table.bind(Methods.DanglingReset.self, CrashdInterface.danglingReset)
    table.bind(Methods.PolicySet.self, CrashdInterface.policySet)
  }

  private static let defaultEvents = 100
  /// The memory budgets that an operator is allowed to set for the quarantine of deallocated objects, in bytes.
  private static let budgetRange = 4_096...1 << 34

  func danglingPolicies(
    _ parameters: OptionalName, _ client: Client
  ) async throws(ProtocolError) -> Methods.DanglingPolicies.Reply {
    Methods.DanglingPolicies.Reply(
      services: await policy.reports(await policy.find(parameters.name, client.visibility)))
  }

  func danglingClasses(
    _ parameters: OptionalName, _ client: Client
  ) async throws(ProtocolError) -> Methods.DanglingClasses.Sent {
    let found = await policy.summaries(await policy.find(parameters.name, client.visibility))
    return Methods.DanglingClasses.Sent(
      classes: found.prefix(limits.listReports).map { Erased(EstimatedClass($0)) })
  }

  func danglingEvents(
    _ parameters: Methods.DanglingEvents.Parameters, _ client: Client
  ) async throws(ProtocolError) -> Methods.DanglingEvents.Reply {
    let limit = try checked(parameters.limit, "limit", in: 0...Int.max) ?? Self.defaultEvents
    let keys = await policy.find(parameters.name, client.visibility)
    let names = await policy.names(keys)
    let events = try reading { () throws(StoreError) in
      try store.danglingEvents(
        programs: parameters.name == nil ? nil : Set(keys.map(\.program)), visibility: client.visibility,
        limit: min(limit, limits.listReports))
    }
    return Methods.DanglingEvents.Reply(events: events.compactMap { DanglingEventReport($0, names: names) })
  }

  func policySet(
    _ parameters: Methods.PolicySet.Parameters, _ client: Client
  ) async throws(ProtocolError) -> DanglingChange {
    let rules = parameters.shared
    var change = RuleChange()
    if let pin = rules.pin {
      guard let known = Pin(rawValue: pin.rawValue) else { throw .invalidParameter("pin") }
      change.pin = known
    }
    change.allowsAutomaticProtection = rules.automatic
    let budget = Self.budgetRange
    change.baseBudgetBytes = try checked(rules.baseBudgetBytes, "baseBudgetBytes", in: budget).map { UInt64($0) }
    change.raisedBudgetBytes = try checked(rules.raisedBudgetBytes, "raisedBudgetBytes", in: budget).map { UInt64($0) }
    change.crashLoop_s = try checked(rules.crashLoopSeconds, "crashLoop_s", in: 0...86_400).map { Double($0) }
    change.alarmThreshold_days =
      try checked(rules.alarmThresholdDays, "alarmThreshold_days", in: 2...36_500).map { Double($0) }
    let keys = try await services(parameters.own.name, client.visibility)
    await policy.change(keys, change, by: client.peer.uid)
    return await outcome(of: keys, about: .protection)
  }

  func danglingProtect(
    _ parameters: Methods.DanglingProtect.Parameters, _ client: Client
  ) async throws(ProtocolError) -> DanglingChange {
    let className = try self.className(parameters.class)
    var wish = ServicePolicy.Wish()
    wish.limit = try checked(parameters.limit, "limit", in: 1...Int(SlotSuggestion.most))
    if let mode = parameters.mode {
      guard let known = DanglingMode(rawValue: mode) else { throw .invalidParameter("mode") }
      wish.mode = known
    }
    return try await change(className, parameters.name, client, isForced: parameters.force == true) { [wish] keys in
      await policy.protect(keys, className, wish, by: client.peer.uid)
    }
  }

  func danglingRelease(
    _ parameters: Methods.DanglingRelease.Parameters, _ client: Client
  ) async throws(ProtocolError) -> DanglingChange {
    let className = try self.className(parameters.class)
    return try await change(className, parameters.name, client, isForced: parameters.force == true) { keys in
      await policy.release(keys, className, by: client.peer.uid)
    }
  }

  func danglingReset(
    _ parameters: Methods.DanglingReset.Parameters, _ client: Client
  ) async throws(ProtocolError) -> DanglingChange {
    let className = try self.className(parameters.class)
    let keys = try await services(parameters.name, client.visibility)
    await policy.reset(keys, className, by: client.peer.uid)
    return await outcome(of: keys, about: .protection)
  }

  /// Sets the operator's override for the protection of a class in one or more programs.
  ///
  /// If all attached processes of a program answer that they do not have the class, crashd restores the earlier
  /// override for this program.
  /// - Throws: `noSuchClass` if no attached process of these programs has the class.
  private func change(
    _ className: String, _ name: String?, _ client: Client, isForced: Bool,
    _ make: (_ keys: [ServiceKey]) async -> Void
  ) async throws(ProtocolError) -> DanglingChange {
    let keys = try await services(name, client.visibility)
    for key in keys where await !policy.hasRoom(key, for: className) {
      throw .tooManyClasses(limit: ControlPlan.wordLimit / 2)
    }
    let before = await policy.overrides(keys, of: className)
    await make(keys)
    let outcome = await outcome(of: keys, about: .protection)
    if isForced { return outcome }
    let denying = await policy.services(keys, denying: className)
    if denying.isEmpty { return outcome }
    let rest = keys.filter { !denying.contains($0) }
    guard await policy.hasProcesses(rest) else {
      await policy.restore(before, of: className)
      throw .noSuchClass(name: className)
    }
    await policy.restore(before.filter { denying.contains($0.key) }, of: className)
    return await self.outcome(of: rest, about: .protection)
  }

  func outcome(of keys: [ServiceKey], about subject: ControlOutcome.Subject) async -> DanglingChange {
    let (processes, applied) = await policy.settle(keys, about: subject, timeout_ms: limits.control_ms)
    return DanglingChange(
      services: await policy.names(keys).values.sorted(), processes: processes, applied: applied)
  }

  private func className(_ name: String) throws(ProtocolError) -> String {
    // Reject names with control characters or spaces: processes reject control characters, and no class name contains
    // spaces.
    guard let usable = PolicyKeeper.usable(name), usable == CleanText.line(usable), !usable.contains(" ") else {
      throw .invalidParameter("class")
    }
    return usable
  }

  func services(_ name: String?, _ visibility: Visibility) async throws(ProtocolError) -> [ServiceKey] {
    // Reject an empty name, because it would match every name. A call that applies to all programs must omit the name.
    if name?.isEmpty == true { throw .invalidParameter("name") }
    // Wait until all processes that attached before this call are registered, so that the change also applies to them.
    await attach.settle(pid: 0)
    await pipeline.register.settle()
    let keys = await policy.find(name, visibility)
    guard !keys.isEmpty else { throw .noSuchService(name: String((name ?? "").prefix(128))) }
    return keys
  }
}

extension PolicyKeeper {
  func names(_ keys: [ServiceKey]) -> [ServiceKey: String] {
    keys.reduce(into: [:]) { $0[$1] = services[$1]?.policy.name ?? $1.program }
  }
}

/// The estimates for one class in one build: the fields of `DanglingClass`, with additional figures.
private struct EstimatedClass: Encodable, Sendable {
  var uid: Int
  var process: String
  var program: String
  var figures: ClassSummary

  init(_ found: (service: ServiceKey, name: String, summary: ClassSummary)) {
    uid = Int(found.service.uid)
    process = found.name
    program = found.service.program
    figures = found.summary
  }
}

extension DanglingEventReport {
  fileprivate init?(_ event: DanglingEvent, names: [ServiceKey: String]) {
    // Skip decisions that another version of crashd stored in another format.
    guard let decision = try? JSONDecoder().decode(DanglingDecision.self, from: event.json) else { return nil }
    let key = ServiceKey(uid: event.uid, program: event.program, isRestricted: event.isRestricted)
    self.init(
      sequence: Int(event.sequence), uid: Int(event.uid), name: names[key] ?? event.program, program: event.program,
      decision: decision)
  }
}
