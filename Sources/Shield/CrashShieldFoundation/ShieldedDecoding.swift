internal import CrashShield
internal import CrashShieldGuards
public import Foundation

extension JSONDecoder {
  /// Decodes a value, and sets the call site of the faults that `ShieldedElements`, `ShieldedMembers` and
  /// `ShieldedField` record.
  ///
  /// ```swift
  /// struct Order: Decodable {
  ///   var id: Int                          // required: without it, decoding throws
  ///   @ShieldedElements var lines: [Line]  // without the invalid lines
  ///   @ShieldedField var note: String?     // nil if invalid
  /// }
  /// let order = try JSONDecoder().shieldedDecode(Order.self, from: body)
  /// ```
  public func shieldedDecode<Value: Decodable>(
    _ type: Value.Type, from data: Data, fileID: StaticString = #fileID, line: UInt = #line
  ) throws -> Value {
    try LeftOut.$site.withValue(ShieldSite(fileID: fileID, line: line)) { try decode(type, from: data) }
  }
}

/// The valid elements of an array.
///
/// Replaces `[Element]`, whose decoding fails if one element is invalid. Each skipped element is recorded as `json`. If
/// the value is not an array, there are no elements, and the fault is also recorded as `json`. A null or missing member
/// has no elements and is not a fault. Under `off` and `observe`, decoding throws the error, as without the wrapper.
/// Use `JSONDecoder.shieldedDecode` to record the call site.
@propertyWrapper
public struct ShieldedElements<Element: Decodable>: Decodable {
  /// The valid elements of the decoded array.
  public var wrappedValue: [Element]

  /// Wraps the given elements.
  public init(wrappedValue: [Element]) { self.wrappedValue = wrappedValue }

  /// Decodes the valid elements.
  public init(from decoder: any Decoder) throws {
    wrappedValue = []
    guard var container = try LeftOut.attempt(Self.self, { try decoder.unkeyedContainer() }) else { return }
    while !container.isAtEnd {
      let element = try LeftOut.attempt(Element.self) { try container.decode(Element.self) }
      // After a failure, the container is still at the invalid element: skip this element.
      if let element { wrappedValue.append(element) } else { _ = try container.decode(LeftOut.self) }
    }
  }
}

/// The valid members of an object.
///
/// Replaces `[String: Value]`, whose decoding fails if one member is invalid. Each skipped member is recorded as a
/// fault of the kind `json`, without the member's key. If the value is not an object, there are no members, and one
/// fault of the kind `json` is recorded. A null or missing member has no members and is not a fault. Under `off` and
/// `observe`, decoding throws the error, as without the wrapper. Use `JSONDecoder.shieldedDecode` to record the call
/// site.
@propertyWrapper
public struct ShieldedMembers<Value: Decodable>: Decodable {
  /// The valid members of the decoded object.
  public var wrappedValue: [String: Value]

  /// Wraps the given members.
  public init(wrappedValue: [String: Value]) { self.wrappedValue = wrappedValue }

  /// Decodes the valid members.
  public init(from decoder: any Decoder) throws {
    wrappedValue = [:]
    guard let container = try LeftOut.attempt(Self.self, { try decoder.container(keyedBy: AnyKey.self) }) else {
      return
    }
    for key in container.allKeys {
      let value = try LeftOut.attempt(Value.self) { try container.decode(Value.self, forKey: key) }
      if let value { wrappedValue[key.stringValue] = value }
    }
  }
}

/// A member of a JSON object, which becomes nil if its JSON is invalid.
///
/// Use this wrapper instead of a plain optional: a plain optional is nil if the member is missing, but its decoding
/// throws if the member is invalid. With the wrapper, an invalid member is recorded as `json`; a null or missing member
/// is not a fault. Under `off` and `observe`, decoding throws the error, as without the wrapper. Use
/// `JSONDecoder.shieldedDecode` to record the call site.
@propertyWrapper
public struct ShieldedField<Value: Decodable>: Decodable {
  /// The decoded value; nil if the member was invalid, null or missing.
  public var wrappedValue: Value?

  /// Wraps the given value.
  public init(wrappedValue: Value?) { self.wrappedValue = wrappedValue }

  /// Decodes the value, if it is valid.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    wrappedValue = container.decodeNil() ? nil : try LeftOut.attempt(Value.self) { try container.decode(Value.self) }
  }
}

extension ShieldedElements: Sendable where Element: Sendable {}
extension ShieldedMembers: Sendable where Value: Sendable {}
extension ShieldedField: Sendable where Value: Sendable {}

// The `init(from:)` that the compiler generates calls these functions for its members. Where this module is imported,
// these functions take precedence over the container's own functions, which throw for a missing member.
extension KeyedDecodingContainer {
  /// Decodes the elements; there are no elements if the member is missing or null.
  public func decode<Element>(
    _: ShieldedElements<Element>.Type, forKey key: Key
  ) throws -> ShieldedElements<Element> {
    try decodeIfPresent(ShieldedElements<Element>.self, forKey: key) ?? ShieldedElements(wrappedValue: [])
  }

  /// Decodes the members; there are no members if the value is missing or null.
  public func decode<Value>(
    _: ShieldedMembers<Value>.Type, forKey key: Key
  ) throws -> ShieldedMembers<Value> {
    try decodeIfPresent(ShieldedMembers<Value>.self, forKey: key) ?? ShieldedMembers(wrappedValue: [:])
  }

  /// Decodes the value; nil if the member is missing or null.
  public func decode<Value>(_: ShieldedField<Value>.Type, forKey key: Key) throws -> ShieldedField<Value> {
    try decodeIfPresent(ShieldedField<Value>.self, forKey: key) ?? ShieldedField(wrappedValue: nil)
  }
}

/// Decodes from any value; skips an invalid element.
private struct LeftOut: Decodable {
  /// The call site of the decoding; nil if it is unknown.
  @TaskLocal static var site: ShieldSite?

  init(from decoder: any Decoder) {}

  /// Returns the value that the function decodes; if it throws, records the fault and returns nil.
  ///
  /// The record contains neither the value nor the coding path of the error.
  static func attempt<Value, Wanted>(_: Wanted.Type, _ body: () throws -> Value) throws -> Value? {
    do {
      return try body()
    } catch {
      guard let fault = error as? DecodingError else { throw error }
      let isAbsorbed = Shield.handleFault(.json, at: site ?? ShieldSite()) { "no \(Wanted.self): \(fault.name)" }
      guard isAbsorbed else { throw error }
      return nil
    }
  }
}

extension DecodingError {
  fileprivate var name: String {
    switch self {
    case .typeMismatch(let type, _): "another type than \(type)"
    case .valueNotFound(let type, _): "no value for \(type)"
    case .keyNotFound(let key, _): "no \(key.stringValue)"
    case .dataCorrupted: "corrupt"
    @unknown default: "\(Self.self)"
    }
  }
}

private struct AnyKey: CodingKey {
  var stringValue: String
  var intValue: Int? { nil }

  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}
