/// Provides the fields of a flat object to a type that is being decoded.
protocol FieldSource {
  /// Returns the value of the field with this name and kind; nil if the field is absent.
  func value(_ name: String, _ kind: FieldShape.Kind) throws -> JSONValue?
  /// Returns the value of a field whose type is not a Boolean, a number or a string.
  func nested<Value: Decodable>(_ name: String, _ type: Value.Type) throws -> Value
  /// Returns whether the field with this name has a value.
  func hasValue(_ name: String) -> Bool
}

/// Decodes a type whose fields have names and plain types (Boolean, number, string), and reads the fields from a
/// source.
struct FieldDecoder: Decoder {
  let source: any FieldSource

  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(Fields<Key>(source: source))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw FieldSourceError.unsupported }
  func singleValueContainer() throws -> any SingleValueDecodingContainer { throw FieldSourceError.unsupported }
}

/// The error for a type with unnamed fields or with fields of unsupported types.
enum FieldSourceError: Error {
  case unsupported
}

private struct Fields<Key: CodingKey>: KeyedDecodingContainerProtocol {
  let source: any FieldSource

  var codingPath: [any CodingKey] { [] }
  var allKeys: [Key] { [] }

  func contains(_ key: Key) -> Bool { source.hasValue(key.stringValue) }
  func decodeNil(forKey key: Key) -> Bool { !source.hasValue(key.stringValue) }

  func decode(_: Bool.Type, forKey key: Key) throws -> Bool {
    guard case .bool(let flag) = try source.value(key.stringValue, .bool) else { throw wrong(key) }
    return flag
  }

  func decode(_: String.Type, forKey key: Key) throws -> String {
    guard case .string(let text) = try source.value(key.stringValue, .string) else { throw wrong(key) }
    return text
  }

  func decode(_: Double.Type, forKey key: Key) throws -> Double {
    switch try source.value(key.stringValue, .float) {
    case .double(let number): return number
    case .int(let number): return Double(number)
    default: throw wrong(key)
    }
  }

  func decode(_: Int.Type, forKey key: Key) throws -> Int { try integer(key) }
  func decode(_: Int8.Type, forKey key: Key) throws -> Int8 { try integer(key) }
  func decode(_: Int16.Type, forKey key: Key) throws -> Int16 { try integer(key) }
  func decode(_: Int32.Type, forKey key: Key) throws -> Int32 { try integer(key) }
  func decode(_: Int64.Type, forKey key: Key) throws -> Int64 { try integer(key) }
  func decode(_: UInt.Type, forKey key: Key) throws -> UInt { try integer(key) }
  func decode(_: UInt8.Type, forKey key: Key) throws -> UInt8 { try integer(key) }
  func decode(_: UInt16.Type, forKey key: Key) throws -> UInt16 { try integer(key) }
  func decode(_: UInt32.Type, forKey key: Key) throws -> UInt32 { try integer(key) }
  func decode(_: UInt64.Type, forKey key: Key) throws -> UInt64 { try integer(key) }
  func decode(_: Float.Type, forKey key: Key) throws -> Float { Float(try decode(Double.self, forKey: key)) }

  func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
    try source.nested(key.stringValue, type)
  }

  func nestedContainer<Nested: CodingKey>(
    keyedBy _: Nested.Type, forKey _: Key
  ) throws -> KeyedDecodingContainer<Nested> { throw FieldSourceError.unsupported }
  func nestedUnkeyedContainer(forKey _: Key) throws -> any UnkeyedDecodingContainer {
    throw FieldSourceError.unsupported
  }
  func superDecoder() throws -> any Decoder { throw FieldSourceError.unsupported }
  func superDecoder(forKey _: Key) throws -> any Decoder { throw FieldSourceError.unsupported }

  private func integer<Number: FixedWidthInteger>(_ key: Key) throws -> Number {
    guard case .int(let number) = try source.value(key.stringValue, .int), let exact = Number(exactly: number) else {
      throw wrong(key)
    }
    return exact
  }

  private func wrong(_ key: Key) -> ProtocolError { .invalidParameter(key.stringValue) }
}
