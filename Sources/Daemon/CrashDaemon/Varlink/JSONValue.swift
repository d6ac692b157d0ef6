import CrashReport

/// Any JSON, for parameters whose shape is checked by hand so that an error can name the parameter.
///
/// It is no `Decodable`: `JSONDecoder` would try one kind after another, at a cost that grows with the cube of the depth.
enum JSONValue: Encodable, Sendable, Equatable {
  case null
  case bool(Bool)
  case int(Int64)
  case double(Double)
  case string(String)
  case array([JSONValue])
  case object([String: JSONValue])

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .int(let value): try container.encode(value)
    case .double(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .array(let value): try container.encode(value)
    case .object(let value): try container.encode(value)
    }
  }
}

extension JSONValue: JSONBuildable {
  static func json(null: Void) -> JSONValue { .null }
  static func json(bool: Bool) -> JSONValue { .bool(bool) }
  static func json(integer: Int64) -> JSONValue { .int(integer) }
  static func json(double: Double) -> JSONValue { Int64(exactly: double).map { .int($0) } ?? .double(double) }
  static func json(string: String) -> JSONValue { .string(string) }
  static func json(array: [JSONValue]) -> JSONValue { .array(array) }
  static func json(object: [String: JSONValue]) -> JSONValue { .object(object) }

  /// The members of an object from outside; nil when the text is no object, or is nested too deep.
  static func members(of bytes: [UInt8], depth: Int, isStreamSafe: Bool = true) -> [String: JSONValue]? {
    guard
      case .object(let members)? = try? JSONParser<JSONValue>.parse(bytes, depth: depth, isStreamSafe: isStreamSafe)
    else { return nil }
    return members
  }
}
