import CrashReport

/// One field of a type that crashd's Varlink interface transfers.
///
/// The interface file declares the same field.
package struct FieldShape: Equatable, Sendable {
  /// The type of a field.
  package indirect enum Kind: Equatable, Sendable {
    case bool
    case int
    case float
    case string
    /// Any JSON value, or a type that is not one of the other kinds.
    case object
    case list(Kind)
    case map(Kind)
    case fields([FieldShape])
  }

  package var name: String
  package var kind: Kind
  package var isOptional: Bool

  /// Returns the fields of a type, in the order in which the type decodes them.
  ///
  /// Returns nil if the type does not have named fields of plain types.
  package static func fields(of type: any Decodable.Type) -> [FieldShape]? {
    let recorder = ShapeRecorder()
    guard (try? type.init(from: FieldDecoder(source: recorder))) != nil else { return nil }
    return recorder.fields
  }

  fileprivate static func kind(of type: any Decodable.Type) -> Kind {
    switch type {
    case is Bool.Type: .bool
    case is Int.Type: .int
    case is Double.Type: .float
    // An address is encoded as a string of hexadecimal digits.
    case is String.Type, is Address.Type, is any OpenEnum.Type: .string
    case is JSONValue.Type: .object
    case let list as any List.Type: .list(kind(of: list.element))
    case let map as any Map.Type: .map(kind(of: map.element))
    default: fields(of: type).map { .fields($0) } ?? .object
    }
  }
}

/// Records the fields that a type decodes, and gives the type a placeholder value for each field.
private final class ShapeRecorder: FieldSource {
  var fields: [FieldShape] = []
  private var optional: Set<String> = []

  func hasValue(_ name: String) -> Bool {
    optional.insert(name)
    return true
  }

  func value(_ name: String, _ kind: FieldShape.Kind) throws -> JSONValue? {
    record(name, kind)
    return switch kind {
    case .bool: .bool(false)
    case .int, .float: .int(0)
    default: .string("")
    }
  }

  func nested<Value: Decodable>(_ name: String, _ type: Value.Type) throws -> Value {
    record(name, FieldShape.kind(of: type))
    let value: Any? =
      switch type {
      case let list as any List.Type: list.none
      case let map as any Map.Type: map.none
      case is JSONValue.Type: JSONValue.null
      case is Address.Type: Address(0)
      case let words as any OpenEnum.Type: words.init(rawValue: "")
      default: try Value(from: FieldDecoder(source: ShapeRecorder()))
      }
    guard let value = value as? Value else { throw FieldSourceError.unsupported }
    return value
  }

  private func record(_ name: String, _ kind: FieldShape.Kind) {
    fields.append(FieldShape(name: name, kind: kind, isOptional: optional.contains(name)))
  }
}

private protocol List {
  static var element: any Decodable.Type { get }
  static var none: Any { get }
}

extension Array: List where Element: Decodable {
  fileprivate static var element: any Decodable.Type { Element.self }
  fileprivate static var none: Any { [Element]() }
}

private protocol Map {
  static var element: any Decodable.Type { get }
  static var none: Any { get }
}

extension Dictionary: Map where Key == String, Value: Decodable {
  fileprivate static var element: any Decodable.Type { Value.self }
  fileprivate static var none: Any { [String: Value]() }
}
