import CrashReport

/// Any JSON value.
///
/// Unlike the types that this module decodes, a `JSONValue` also contains keys that later versions have added.
public enum JSONValue: Sendable, Equatable {
  /// `null`.
  case null
  /// `true` or `false`.
  case bool(Bool)
  /// A number without a fraction that is in the range of `Int`.
  case int(Int)
  /// A number with a fraction, or outside the range of `Int`.
  case double(Double)
  /// A string.
  case string(String)
  /// An array.
  case array([JSONValue])
  /// An object. The order of the keys is not preserved.
  case object([String: JSONValue])

  /// The value of a key.
  ///
  /// The value is nil if the key is missing, or if this value is not an object.
  public subscript(key: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members[key]
  }

  /// The string; nil if this value is not a string.
  public var string: String? {
    guard case .string(let text) = self else { return nil }
    return text
  }

  /// The integer; nil if this value is not an integer.
  public var int: Int? {
    guard case .int(let number) = self else { return nil }
    return number
  }
}

extension JSONValue: Codable {
  /// Decodes any JSON value.
  ///
  /// Complexity: cubic in the nesting depth, because `JSONDecoder` tries one type after another. For untrusted JSON,
  /// call `JSONDepth.check` first, or use `init(parsing:)`.
  /// - Throws: `DecodingError` if the input is not a JSON value.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    // If one of these calls fails, the JSON value has another type, and the next call tries that type. The types that
    // are frequent in reports come first, because a failure takes longer than a decoded value.
    if container.decodeNil() {
      self = .null
    } else if let text = try? container.decode(String.self) {
      self = .string(text)
    } else if let number = try? container.decode(Int.self) {
      self = .int(number)
    } else if let object = try? decoder.container(keyedBy: Key.self) {
      self = .object(
        try object.allKeys.reduce(into: [:]) { $0[$1.stringValue] = try object.decode(JSONValue.self, forKey: $1) })
    } else if var list = try? decoder.unkeyedContainer() {
      var values: [JSONValue] = []
      while !list.isAtEnd { values.append(try list.decode(JSONValue.self)) }
      self = .array(values)
    } else if let flag = try? container.decode(Bool.self) {
      self = .bool(flag)
    } else {
      self = .double(try container.decode(Double.self))
    }
  }

  /// Any key of an object.
  private struct Key: CodingKey {
    var stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  /// Encodes the value.
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

// Parses untrusted JSON.
extension JSONValue {
  /// Parses untrusted JSON.
  ///
  /// Returns nil if the JSON is invalid or nested too deep.
  ///
  /// Complexity: O(bytes), see `JSONParser`.
  package init?(parsing bytes: [UInt8], depth: Int = JSONDepth.answers, isStreamSafe: Bool = false) {
    guard let value = try? JSONParser<JSONValue>.parse(bytes, depth: depth, isStreamSafe: isStreamSafe) else {
      return nil
    }
    self = value
  }

  /// Returns the members of an untrusted JSON object.
  ///
  /// Returns nil if the bytes are not an object or are nested too deep.
  package static func members(of bytes: [UInt8], depth: Int, isStreamSafe: Bool = true) -> [String: JSONValue]? {
    guard case .object(let members)? = JSONValue(parsing: bytes, depth: depth, isStreamSafe: isStreamSafe) else {
      return nil
    }
    return members
  }
}

extension JSONValue: JSONBuildable {
  package static func json(null: Void) -> JSONValue { .null }
  package static func json(bool: Bool) -> JSONValue { .bool(bool) }
  package static func json(integer: Int64) -> JSONValue { .int(Int(integer)) }
  package static func json(double: Double) -> JSONValue { Int(exactly: double).map { .int($0) } ?? .double(double) }
  package static func json(string: String) -> JSONValue { .string(string) }
  package static func json(array: [JSONValue]) -> JSONValue { .array(array) }
  package static func json(object: [String: JSONValue]) -> JSONValue { .object(object) }
}
