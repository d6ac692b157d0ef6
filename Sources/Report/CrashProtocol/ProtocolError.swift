/// An error that crashd's interface or `org.varlink.service` defines.
///
/// The reply to a failed call contains an error instead of parameters.
public enum ProtocolError: Error, Equatable, Sendable {
  /// No report has an id that begins with `id`.
  case noSuchReport(id: String)
  /// `count` reports have an id that begins with `id`. The caller should pass more digits of the id.
  case ambiguousID(id: String, count: Int)
  /// No group, or more than one group, has a key that begins with `key`.
  case noSuchGroup(key: String)
  /// The raw record cannot be analyzed again, for the given reason.
  case notReanalysable(reason: String)
  /// The text is not a complete record line (a crash record as text), for the given reason.
  case invalidRecord(reason: String)
  /// No subscriber has this name.
  case noSuchSubscriber(String)
  /// The subscriber is a collector in crashd's settings and cannot be removed.
  case subscriberInUse(String)
  /// The user already has the maximum number of named subscribers.
  case tooManySubscribers(limit: Int)
  /// No build, or more than one build, has this id or release. The value is empty if a program has no other build to
  /// compare with.
  case noSuchBuild(String)
  /// crashd has no program with this name.
  case noSuchService(name: String)
  /// No attached process of the selected programs has a class of this name.
  case noSuchClass(name: String)
  /// crashd already has the maximum number of clients, either of this user or in total. The client should retry later.
  case tooManyClients(limit: Int)
  /// One program already has the maximum number of classes with overrides.
  case tooManyClasses(limit: Int)
  /// crashd's store never issued this cursor.
  case invalidCursor(String)
  /// Events after the cursor were removed before the subscriber read them. If `exact` is false, the count `lost` can
  /// include a few events before the cursor.
  case cursorExpired(lost: Int, exact: Bool)
  /// crashd is running, but cannot read or write its store at the moment.
  case storeUnavailable(reason: String)

  /// The parameter is unknown, missing, or has an invalid value.
  case invalidParameter(String)
  /// The interface has no method with this name.
  case methodNotFound(String)
  /// The service does not implement the method, or does not support the requested options.
  case methodNotImplemented(String)
  /// The service has no interface with this name.
  case interfaceNotFound(String)
  /// The method sends many replies, but the call did not request them with `more`.
  case expectedMore

  /// An error that this version of the client does not define.
  case other(name: String, parameters: [String: JSONValue])
}

// Encodes and decodes errors, with the names and parameters that the interface files declare.
extension ProtocolError {
  private static let own = "io.crashshield.Crashd."
  private static let service = "org.varlink.service."

  /// The full name of the error.
  public var name: String { wire.name }
  package var parameters: [String: JSONValue] { wire.parameters }

  private var wire: (name: String, parameters: [String: JSONValue]) {
    let own = { (name: String, parameters: [String: JSONValue]) in (Self.own + name, parameters) }
    let service = { (name: String, parameters: [String: JSONValue]) in (Self.service + name, parameters) }
    return switch self {
    case .noSuchReport(let id): own("NoSuchReport", ["id": .string(id)])
    case .ambiguousID(let id, let count): own("AmbiguousID", ["id": .string(id), "count": .int(count)])
    case .noSuchGroup(let key): own("NoSuchGroup", ["key": .string(key)])
    case .notReanalysable(let reason): own("NotReanalysable", ["reason": .string(reason)])
    case .invalidRecord(let reason): own("InvalidRecord", ["reason": .string(reason)])
    case .noSuchSubscriber(let name): own("NoSuchSubscriber", ["subscriber": .string(name)])
    case .subscriberInUse(let name): own("SubscriberInUse", ["subscriber": .string(name)])
    case .tooManySubscribers(let limit): own("TooManySubscribers", ["limit": .int(limit)])
    case .noSuchBuild(let build): own("NoSuchBuild", ["build": .string(build)])
    case .noSuchService(let name): own("NoSuchService", ["name": .string(name)])
    case .noSuchClass(let name): own("NoSuchClass", ["class": .string(name)])
    case .tooManyClients(let limit): own("TooManyClients", ["limit": .int(limit)])
    case .tooManyClasses(let limit): own("TooManyClasses", ["limit": .int(limit)])
    case .invalidCursor(let cursor): own("InvalidCursor", ["cursor": .string(cursor)])
    case .cursorExpired(let lost, let exact): own("CursorExpired", ["lost": .int(lost), "exact": .bool(exact)])
    case .storeUnavailable(let reason): own("StoreUnavailable", ["reason": .string(reason)])
    case .invalidParameter(let name): service("InvalidParameter", ["parameter": .string(name)])
    case .methodNotFound(let method): service("MethodNotFound", ["method": .string(method)])
    case .methodNotImplemented(let method): service("MethodNotImplemented", ["method": .string(method)])
    case .interfaceNotFound(let interface): service("InterfaceNotFound", ["interface": .string(interface)])
    case .expectedMore: service("ExpectedMore", [:])
    case .other(let name, let parameters): (name, parameters)
    }
  }

  /// Decodes the error in a reply.
  ///
  /// If a parameter is missing, an empty value is used.
  package init(name: String, parameters: [String: JSONValue]) {
    self = Self.known[name]?(Members(values: parameters)) ?? .other(name: name, parameters: parameters)
  }

  private struct Members {
    var values: [String: JSONValue]

    func text(_ key: String) -> String { values[key]?.string ?? "" }
    func number(_ key: String, or missing: Int = 0) -> Int { values[key]?.int ?? missing }
  }

  /// The names of all errors that this version defines.
  package static var names: Set<String> { Set(known.keys) }

  private typealias Making = @Sendable (Members) -> ProtocolError

  private static let known: [String: Making] = Dictionary(
    uniqueKeysWithValues: ofCrashd.map { (own + $0, $1) } + ofService.map { (service + $0, $1) })

  private static let ofCrashd: [String: Making] = [
    "NoSuchReport": { .noSuchReport(id: $0.text("id")) },
    "AmbiguousID": { .ambiguousID(id: $0.text("id"), count: $0.number("count", or: 2)) },
    "NoSuchGroup": { .noSuchGroup(key: $0.text("key")) },
    "NotReanalysable": { .notReanalysable(reason: $0.text("reason")) },
    "InvalidRecord": { .invalidRecord(reason: $0.text("reason")) },
    "NoSuchSubscriber": { .noSuchSubscriber($0.text("subscriber")) },
    "SubscriberInUse": { .subscriberInUse($0.text("subscriber")) },
    "TooManySubscribers": { .tooManySubscribers(limit: $0.number("limit")) },
    "NoSuchBuild": { .noSuchBuild($0.text("build")) },
    "NoSuchService": { .noSuchService(name: $0.text("name")) },
    "NoSuchClass": { .noSuchClass(name: $0.text("class")) },
    "TooManyClients": { .tooManyClients(limit: $0.number("limit")) },
    "TooManyClasses": { .tooManyClasses(limit: $0.number("limit")) },
    "InvalidCursor": { .invalidCursor($0.text("cursor")) },
    "CursorExpired": { .cursorExpired(lost: $0.number("lost"), exact: $0.values["exact"] != .bool(false)) },
    "StoreUnavailable": { .storeUnavailable(reason: $0.text("reason")) },
  ]

  private static let ofService: [String: Making] = [
    "InvalidParameter": { .invalidParameter($0.text("parameter")) },
    "MethodNotFound": { .methodNotFound($0.text("method")) },
    "MethodNotImplemented": { .methodNotImplemented($0.text("method")) },
    "InterfaceNotFound": { .interfaceNotFound($0.text("interface")) },
    "ExpectedMore": { _ in .expectedMore },
  ]
}
