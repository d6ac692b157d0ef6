import CrashReport
import CrashStore
import DanglingStatistics
import FoundationEssentials

/// The methods about what is protected from uses of dead objects, and why.
extension CrashdInterface {
  private static let defaultEvents = 100
  /// Of a budget that an operator may give.
  private static let budgetRange: ClosedRange<Int64> = 4_096...1 << 34

  func danglingPolicies(_ call: VarlinkCall, _ visibility: Visibility) async throws(VarlinkError)
    -> DanglingPoliciesReply
  {
    let parameters = try VarlinkParameters(call, known: ["name"])
    let name = try parameters.string("name")
    return DanglingPoliciesReply(services: await policy.views(await policy.find(name, visibility)))
  }

  func danglingClasses(_ call: VarlinkCall, _ visibility: Visibility) async throws(VarlinkError) -> DanglingClassesReply
  {
    let parameters = try VarlinkParameters(call, known: ["name"])
    let name = try parameters.string("name")
    await pipeline.observeAll { visibility.includes($0) }
    let found = await policy.summaries(await policy.find(name, visibility))
    return DanglingClassesReply(classes: found.prefix(limits.listReports).map { DanglingClassesReply.Class($0) })
  }

  func danglingEvents(_ call: VarlinkCall, _ visibility: Visibility) async throws(VarlinkError) -> DanglingEventsReply {
    let parameters = try VarlinkParameters(call, known: ["name", "limit"])
    let name = try parameters.string("name")
    let limit = try parameters.int("limit", in: 0...Int64.max) ?? Self.defaultEvents
    let keys = await policy.find(name, visibility)
    let names = await policy.names(keys)
    let events = try reading { () throws(StoreError) in
      try store.danglingEvents(
        programs: name == nil ? nil : Set(keys.map(\.program)), visibility: visibility,
        limit: min(limit, limits.listReports))
    }
    return DanglingEventsReply(events: events.compactMap { DanglingEventsReply.Event($0, names: names) })
  }

  func policySet(_ call: VarlinkCall, _ visibility: Visibility) async throws(VarlinkError) -> DanglingServicesReply {
    let parameters = try VarlinkParameters(
      call,
      known: [
        "name", "pin", "automatic", "baseBudgetBytes", "raisedBudgetBytes", "crashLoop_s", "alarmThreshold_days",
      ])
    var change = RuleChange()
    if let pin = try parameters.string("pin") {
      guard let known = Pin(rawValue: pin) else { throw .invalidParameter("pin") }
      change.pin = known
    }
    change.allowsAutomaticProtection = try parameters.bool("automatic")
    change.baseBudgetBytes = try parameters.int("baseBudgetBytes", in: Self.budgetRange).map { UInt64($0) }
    change.raisedBudgetBytes = try parameters.int("raisedBudgetBytes", in: Self.budgetRange).map { UInt64($0) }
    change.crashLoop_s = try parameters.int("crashLoop_s", in: 0...86_400).map { Double($0) }
    change.alarmThreshold_days = try parameters.int("alarmThreshold_days", in: 2...36_500).map { Double($0) }
    let keys = try await services(parameters.required("name", parameters.string("name")), visibility)
    await policy.change(keys, change)
    return await outcome(of: keys, about: .deadObjects)
  }

  func danglingProtect(_ call: VarlinkCall, _ visibility: Visibility) async throws(VarlinkError)
    -> DanglingServicesReply
  {
    let parameters = try VarlinkParameters(call, known: ["class", "name", "limit", "mode"])
    let className = try self.className(parameters)
    var wish = ServicePolicy.Wish()
    wish.limit = try parameters.int("limit", in: 1...Int64(SlotSuggestion.most))
    if let mode = try parameters.string("mode") {
      guard let known = DanglingMode(rawValue: mode) else { throw .invalidParameter("mode") }
      wish.mode = known
    }
    let keys = try await services(parameters.string("name"), visibility)
    for key in keys where await !policy.hasRoom(key, for: className) {
      throw .tooManyClasses(limit: ControlPlan.wordLimit / 2)
    }
    await policy.protect(keys, className, wish)
    return await outcome(of: keys, about: .deadObjects)
  }

  func danglingRelease(_ call: VarlinkCall, _ visibility: Visibility) async throws(VarlinkError)
    -> DanglingServicesReply
  {
    let parameters = try VarlinkParameters(call, known: ["class", "name"])
    let className = try self.className(parameters)
    let keys = try await services(parameters.string("name"), visibility)
    for key in keys where await !policy.hasRoom(key, for: className) {
      throw .tooManyClasses(limit: ControlPlan.wordLimit / 2)
    }
    await policy.release(keys, className)
    return await outcome(of: keys, about: .deadObjects)
  }

  func outcome(of keys: [ServiceKey], about subject: ControlOutcome.Subject) async -> DanglingServicesReply {
    let (processes, obeying) = await policy.settle(keys, about: subject, timeout_ms: limits.control_ms)
    return DanglingServicesReply(
      services: await policy.names(keys).values.sorted(), processes: processes, obeying: obeying)
  }

  private func className(_ parameters: VarlinkParameters) throws(VarlinkError) -> String {
    let name = try parameters.required("class", parameters.string("class"))
    // Processes refuse what has control characters; a name of blanks is no class's.
    guard let usable = PolicyKeeper.usable(name), usable == CleanText.line(usable), !usable.contains(" ") else {
      throw .invalidParameter("class")
    }
    return usable
  }

  func services(_ name: String?, _ visibility: Visibility) async throws(VarlinkError) -> [ServiceKey] {
    // A part of every name; who means all programs leaves it out.
    if name?.isEmpty == true { throw .invalidParameter("name") }
    // Who attached before this call is meant, too.
    await attach.settle(pid: 0)
    await pipeline.register.settle()
    let keys = await policy.find(name, visibility)
    guard !keys.isEmpty else { throw .noSuchService(name ?? "") }
    return keys
  }
}

extension PolicyKeeper {
  func names(_ keys: [ServiceKey]) -> [ServiceKey: String] {
    keys.reduce(into: [:]) { $0[$1] = services[$1]?.policy.name ?? $1.program }
  }
}

struct DanglingPoliciesReply: Encodable, Sendable {
  var services: [PolicyView]
}

struct DanglingServicesReply: Encodable, Sendable {
  var services: [String]
  var processes: Int
  var obeying: Int
}

struct DanglingClassesReply: Encodable, Sendable {
  struct Class: Encodable, Sendable {
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

  var classes: [Class]
}

struct DanglingEventsReply: Encodable, Sendable {
  struct Event: Encodable, Sendable {
    var sequence: Int
    var uid: Int
    var name: String
    var program: String
    var decision: DanglingDecision

    init?(_ event: DanglingEvent, names: [ServiceKey: String]) {
      // What another version wrote in another form is left out.
      guard let decision = try? JSONDecoder().decode(DanglingDecision.self, from: Data(event.json)) else { return nil }
      sequence = Int(event.sequence)
      uid = Int(event.uid)
      program = event.program
      name =
        names[ServiceKey(uid: event.uid, program: event.program, isRestricted: event.isRestricted)] ?? event.program
      self.decision = decision
    }
  }

  var events: [Event]
}
