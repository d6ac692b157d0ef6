internal import CrashShield
internal import CrashShieldGuards
public import Foundation

extension JSONDecoder {
  /// Decodes a value; what `ShieldedElements`, `ShieldedMembers` and `ShieldedField` leave out of it is recorded for this place.
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

/// The elements of an array that can be decoded.
///
/// In place of `[Element]`, of which one bad element takes all others along. Each that is left out is counted as `json`;
/// so is something else than an array, which gives none. Null, and no member at all, give none and are no fault. `off` and
/// `observe`: the error is thrown, as without. `JSONDecoder.shieldedDecode` says where.
@propertyWrapper
public struct ShieldedElements<Element: Decodable>: Decodable {
  /// The elements.
  public var wrappedValue: [Element]

  /// Elements that are given.
  public init(wrappedValue: [Element]) { self.wrappedValue = wrappedValue }

  /// Decodes those that are right.
  public init(from decoder: any Decoder) throws {
    wrappedValue = []
    guard var container = try LeftOut.attempt(Self.self, { try decoder.unkeyedContainer() }) else { return }
    while !container.isAtEnd {
      let element = try LeftOut.attempt(Element.self) { try container.decode(Element.self) }
      // What was not decoded is still the next one.
      if let element { wrappedValue.append(element) } else { _ = try container.decode(LeftOut.self) }
    }
  }
}

/// The members of an object that can be decoded.
///
/// In place of `[String: Value]`. Each that is left out is counted as `json`, without its key; so is something else than an
/// object, which gives none. Null, and no member at all, give none and are no fault. `off` and `observe`: the error is
/// thrown, as without. `JSONDecoder.shieldedDecode` says where.
@propertyWrapper
public struct ShieldedMembers<Value: Decodable>: Decodable {
  /// The members.
  public var wrappedValue: [String: Value]

  /// Members that are given.
  public init(wrappedValue: [String: Value]) { self.wrappedValue = wrappedValue }

  /// Decodes those that are right.
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

/// A member that is nil where it cannot be decoded.
///
/// In place of an optional, which is nil where there is nothing, and throws where there is something else. That is counted as `json`; null,
/// and no member at all, are no fault. `off` and `observe`: the error is thrown, as without.
/// `JSONDecoder.shieldedDecode` says where.
@propertyWrapper
public struct ShieldedField<Value: Decodable>: Decodable {
  /// The value.
  public var wrappedValue: Value?

  /// A value that is given.
  public init(wrappedValue: Value?) { self.wrappedValue = wrappedValue }

  /// Decodes it, if it is right.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    wrappedValue = container.decodeNil() ? nil : try LeftOut.attempt(Value.self) { try container.decode(Value.self) }
  }
}

extension ShieldedElements: Sendable where Element: Sendable {}
extension ShieldedMembers: Sendable where Value: Sendable {}
extension ShieldedField: Sendable where Value: Sendable {}

// The compiler's own `init(from:)` asks for members by these, which win over the container's own where this module is
// imported: a member that is missing is none.
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

/// Something that is left out; it decodes from anything.
private struct LeftOut: Decodable {
  /// Where the decoding was asked for; nil: nobody said.
  @TaskLocal static var site: ShieldSite?

  init(from decoder: any Decoder) {}

  /// What the function decodes; nil where it throws, which is recorded.
  ///
  /// An error tells a value and the keys on the way to it; of those the record has nothing.
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
