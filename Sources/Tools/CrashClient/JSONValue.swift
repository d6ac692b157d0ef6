internal import CrashReport

/// Any JSON, kept as it came: what a client does not know is not lost when it passes a reply on.
public enum JSONValue: Sendable, Equatable {
  /// `null`.
  case null
  /// `true` or `false`.
  case bool(Bool)
  /// A number without fraction that fits.
  case int(Int)
  /// Any other number.
  case double(Double)
  /// A text.
  case string(String)
  /// A list.
  case array([JSONValue])
  /// A map; the order of its keys is not kept.
  case object([String: JSONValue])

  /// The value under a key of an object; nil for a missing key and for anything that is no object.
  public subscript(key: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members[key]
  }

  /// The text, where this is one.
  public var string: String? {
    guard case .string(let text) = self else { return nil }
    return text
  }

  /// The integer, where this is one.
  public var int: Int? {
    guard case .int(let number) = self else { return nil }
    return number
  }
}

extension JSONValue: Codable {
  /// Reads whatever stands there.
  /// - Throws: `DecodingError` when it is no JSON value.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    // Each failing `decode` only says that the value has another type; the last one throws what is wrong.
    if container.decodeNil() {
      self = .null
    } else if let flag = try? container.decode(Bool.self) {
      self = .bool(flag)
    } else if let text = try? container.decode(String.self) {
      self = .string(text)
    } else if let number = try? container.decode(Int.self) {
      self = .int(number)
    } else if let number = try? container.decode(Double.self) {
      self = .double(number)
    } else if let list = try? container.decode([JSONValue].self) {
      self = .array(list)
    } else {
      self = .object(try container.decode([String: JSONValue].self))
    }
  }

  /// Writes the value.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let flag): try container.encode(flag)
    case .int(let number): try container.encode(number)
    case .double(let number): try container.encode(number)
    case .string(let text): try container.encode(text)
    case .array(let list): try container.encode(list)
    case .object(let members): try container.encode(members)
    }
  }
}

extension JSONValue {
  /// Reads JSON from outside in linear time; nil when it is none, or is nested too deep.
  package init?(parsing bytes: [UInt8]) {
    guard let parsed = try? JSONParser<Parsed>.parse(bytes, depth: JSONDepth.answers) else { return nil }
    self = parsed.value
  }
}

/// Keeps the parser's protocol, which is of this package, off a public type.
private struct Parsed: JSONBuildable {
  var value: JSONValue

  static func json(null: Void) -> Parsed { Parsed(value: .null) }
  static func json(bool: Bool) -> Parsed { Parsed(value: .bool(bool)) }
  static func json(integer: Int64) -> Parsed { Parsed(value: .int(Int(integer))) }
  static func json(double: Double) -> Parsed { Parsed(value: Int(exactly: double).map { .int($0) } ?? .double(double)) }
  static func json(string: String) -> Parsed { Parsed(value: .string(string)) }
  static func json(array: [Parsed]) -> Parsed { Parsed(value: .array(array.map(\.value))) }
  static func json(object: [String: Parsed]) -> Parsed { Parsed(value: .object(object.mapValues(\.value))) }
}
