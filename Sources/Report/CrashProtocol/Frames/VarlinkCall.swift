internal import FoundationEssentials

/// One method call, as a service receives it.
package struct VarlinkCall: Sendable, Equatable {
  /// The full name of the method, such as `io.crashshield.Crashd.List`.
  package var method: String
  package var parameters: [String: JSONValue]?
  /// Whether the caller requests several replies.
  package var more: Bool?
  /// Whether the caller requests that the service does not reply.
  package var oneway: Bool?
  /// Whether the caller requests another protocol on the connection (Varlink's `upgrade`).
  ///
  /// No method of crashd supports an upgrade.
  package var upgrade: Bool?

  /// The maximum nesting depth of a call.
  ///
  /// This depth is sufficient for parameters that contain a list of strings.
  package static let depth = 8
  private static let methodBytes = 255

  /// Parses one frame as a call.
  ///
  /// Returns nil if the frame is not a call.
  ///
  /// Complexity: O(bytes) for any frame, see `JSONParser`.
  package init?(frame: [UInt8]) {
    guard let members = JSONValue.members(of: frame, depth: Self.depth),
      case .string(let method)? = members["method"],
      // Valid method names consist of ASCII characters. Method names with other characters are refused, because
      // comparing non-ASCII strings can cost more than parsing the call.
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

  package init(method: String, parameters: [String: JSONValue]? = nil, more: Bool? = nil, oneway: Bool? = nil) {
    self.method = method
    self.parameters = parameters
    self.more = more
    self.oneway = oneway
  }

  package var interface: String { method.lastIndex(of: ".").map { String(method[..<$0]) } ?? "" }
  package var name: String { method.lastIndex(of: ".").map { String(method[method.index(after: $0)...]) } ?? method }

  /// Encodes a call as a client sends it: JSON followed by a NUL byte.
  package static func frame(method: String, parameters: some Encodable, more: Bool) throws -> [UInt8] {
    var frame = Array(
      try JSONEncoder().encode(Call(method: method, parameters: parameters, more: more ? true : nil)))
    frame.append(0)
    return frame
  }
}

private struct Call<Parameters: Encodable>: Encodable {
  var method: String
  var parameters: Parameters
  var more: Bool?
}
