internal import CrashShield
internal import CrashShieldGuards
public import Foundation

extension JSONDecoder {
  /// Decodes a value; `ShieldedElements`, `ShieldedMembers` and `ShieldedField` record what they skip with this call
  /// site.
  ///
  /// ```swift
  /// struct Order: Decodable {
  ///   var id: Int                          // an order without is none: it throws
  ///   @ShieldedElements var lines: [Line]  // a line that is none is left out
  ///   @ShieldedField var note: String?     // nil where it is none
  /// }
  /// let order = try JSONDecoder().shieldedDecode(Order.self, from: body)
  /// ```
  public func shieldedDecode<Value: Decodable>(
    _ type: Value.Type, from data: Data, fileID: StaticString = #fileID, line: UInt = #line
  ) throws -> Value {
    try LeftOut.$site.withValue(ShieldSite(fileID: fileID, line: line)) { try decode(type, from: data) }
  }
}

/// The decodable elements of an array.
///
/// In place of `[Element]`, where one bad element fails the whole array. Each skipped element is recorded as `json`; so
/// is a value that is no array, which gives no elements. Null or a missing member gives no elements and is no fault.
/// `off` and `observe`: throws the error, as without. `JSONDecoder.shieldedDecode` adds the call site.
@propertyWrapper
public struct ShieldedElements<Element: Decodable>: Decodable {
  /// The elements.
  public var wrappedValue: [Element]

  /// Wraps the given elements.
  public init(wrappedValue: [Element]) { self.wrappedValue = wrappedValue }

  /// Decodes the valid elements.
  public init(from decoder: any Decoder) throws {
    wrappedValue = []
    guard var container = try LeftOut.attempt(Self.self, { try decoder.unkeyedContainer() }) else { return }
    while !container.isAtEnd {
      let element = try LeftOut.attempt(Element.self) { try container.decode(Element.self) }
      // An element that failed to decode is still the next one.
      if let element { wrappedValue.append(element) } else { _ = try container.decode(LeftOut.self) }
    }
  }
}

/// The decodable members of an object.
///
/// In place of `[String: Value]`. Each skipped member is recorded as `json`, without its key; so is a value that is no
/// object, which gives no members. Null or a missing member gives no members and is no fault. `off` and `observe`:
/// throws the error, as without. `JSONDecoder.shieldedDecode` adds the call site.
@propertyWrapper
public struct ShieldedMembers<Value: Decodable>: Decodable {
  /// The members.
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

/// A member that is nil if it cannot be decoded.
///
/// In place of an optional, which is nil for a missing member and throws for an invalid one. An invalid member is
/// recorded as `json`; null or a missing member is no fault. `off` and `observe`: throws the error, as without.
/// `JSONDecoder.shieldedDecode` adds the call site.
@propertyWrapper
public struct ShieldedField<Value: Decodable>: Decodable {
  /// The value.
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

// The compiler's own `init(from:)` calls these for its members: where this module is imported they take precedence over
// the container's own. A missing member gives no value.
extension KeyedDecodingContainer {
  /// The elements; none where there is no such member, or null.
  public func decode<Element>(
    _: ShieldedElements<Element>.Type, forKey key: Key
  ) throws -> ShieldedElements<Element> {
    try decodeIfPresent(ShieldedElements<Element>.self, forKey: key) ?? ShieldedElements(wrappedValue: [])
  }

  /// The members; none where there is no such member, or null.
  public func decode<Value>(
    _: ShieldedMembers<Value>.Type, forKey key: Key
  ) throws -> ShieldedMembers<Value> {
    try decodeIfPresent(ShieldedMembers<Value>.self, forKey: key) ?? ShieldedMembers(wrappedValue: [:])
  }

  /// The value; nil where there is no such member, or null.
  public func decode<Value>(_: ShieldedField<Value>.Type, forKey key: Key) throws -> ShieldedField<Value> {
    try decodeIfPresent(ShieldedField<Value>.self, forKey: key) ?? ShieldedField(wrappedValue: nil)
  }
}

/// A skipped value; it decodes from anything.
private struct LeftOut: Decodable {
  /// The call site of the decoding; nil if it is unknown.
  @TaskLocal static var site: ShieldSite?

  init(from decoder: any Decoder) {}

  /// The value that the function decodes; nil if it throws, which is recorded.
  ///
  /// An error holds a value and its coding path; the record has nothing of those.
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
