import FoundationEssentials

/// One method call.
struct VarlinkCall: Decodable, Sendable, Equatable {
  /// Such as `io.crashshield.Crashd.List`.
  var method: String
  var parameters: [String: JSONValue]?
  /// The caller wants several replies.
  var more: Bool?
  /// The caller wants none.
  var oneway: Bool?
  /// The caller wants the connection for another protocol afterwards; we have none.
  var upgrade: Bool?

  /// Reads one frame; nil when it is no call.
  init?(frame: [UInt8]) {
    guard let call = try? JSONDecoder().decode(VarlinkCall.self, from: Data(frame)) else { return nil }
    self = call
  }

  init(method: String, parameters: [String: JSONValue]? = nil, more: Bool? = nil, oneway: Bool? = nil) {
    self.method = method
    self.parameters = parameters
    self.more = more
    self.oneway = oneway
  }

  var interface: String { method.lastIndex(of: ".").map { String(method[..<$0]) } ?? "" }
  var name: String { method.lastIndex(of: ".").map { String(method[method.index(after: $0)...]) } ?? method }
}

/// Typed access to the parameters of a call; null counts as absent.
struct VarlinkParameters {
  private let values: [String: JSONValue]

  /// - Throws: `InvalidParameter` for a parameter that the method does not have.
  init(_ call: VarlinkCall, known: Set<String>) throws(VarlinkError) {
    values = (call.parameters ?? [:]).filter { $0.value != .null }
    if let unknown = values.keys.sorted().first(where: { !known.contains($0) }) {
      throw .invalidParameter(String(unknown.prefix(64)))
    }
  }

  func value(_ name: String) throws(VarlinkError) -> JSONValue? { values[name] }

  func string(_ name: String) throws(VarlinkError) -> String? {
    switch values[name] {
    case nil: nil
    case .string(let value): value
    default: throw .invalidParameter(name)
    }
  }

  func bool(_ name: String) throws(VarlinkError) -> Bool? {
    switch values[name] {
    case nil: nil
    case .bool(let value): value
    default: throw .invalidParameter(name)
    }
  }

  func int(_ name: String, in range: ClosedRange<Int64>) throws(VarlinkError) -> Int? {
    switch values[name] {
    case nil: return nil
    case .int(let value) where range.contains(value): return Int(value)
    default: throw .invalidParameter(name)
    }
  }

  /// - Throws: `InvalidParameter` when it is absent.
  func required<Value>(_ name: String, _ value: Value?) throws(VarlinkError) -> Value {
    guard let value else { throw .invalidParameter(name) }
    return value
  }
}
