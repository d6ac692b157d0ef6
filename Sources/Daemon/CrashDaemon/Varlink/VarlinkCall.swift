/// One method call.
struct VarlinkCall: Sendable, Equatable {
  /// Such as `io.crashshield.Crashd.List`.
  var method: String
  var parameters: [String: JSONValue]?
  /// The caller wants several replies.
  var more: Bool?
  /// The caller wants none.
  var oneway: Bool?
  /// The caller wants the connection for another protocol afterwards; we have none.
  var upgrade: Bool?

  /// The parameters, and what stands in them: a list of texts.
  static let depth = 8
  private static let methodBytes = 255

  /// Reads one frame; nil when it is no call.
  ///
  /// Complexity: O(bytes) for any frame, see `JSONParser`.
  init?(frame: [UInt8]) {
    guard let members = JSONValue.members(of: frame, depth: Self.depth),
      case .string(let method)? = members["method"],
      // Names are ASCII. To compare other texts, or to look for a dot in them, may cost more than to read them.
      method.utf8.count <= Self.methodBytes, method.utf8.allSatisfy({ $0 < 0x80 })
    else { return nil }
    self.init(method: method)
    switch members["parameters"] {
    case nil, .null: break
    case .object(let parameters): self.parameters = parameters
    default: return nil
    }
    for (name, flag) in [("more", \VarlinkCall.more), ("oneway", \.oneway), ("upgrade", \.upgrade)] {
      switch members[name] {
      case nil, .null: break
      case .bool(let value): self[keyPath: flag] = value
      default: return nil
      }
    }
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
