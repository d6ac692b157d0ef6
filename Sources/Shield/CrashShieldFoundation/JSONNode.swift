internal import CrashShieldGuards
internal import Foundation

/// A value of JSON, copied.
enum JSONNode: Sendable {
  case missing
  case null
  case flag(Bool)
  case integer(Int)
  case fraction(Double)
  // The nearest to a number that neither of them holds.
  case near(Double)
  case text(String)
  case list([JSONNode])
  case object([String: JSONNode])
  // The name of its type.
  case other(String)

  // The depth of a JSON text is untrusted, and a stack is finite. In a debug build 128 levels fit into a stack of 1
  // MiB.
  private static let limit = 128

  init(_ value: Any?, depth: Int = 0) {
    guard depth < Self.limit else {
      self = .other("value below \(Self.limit) levels")
      return
    }
    switch value {
    case nil: self = .missing
    case is NSNull: self = .null
    case let text as String: self = .text(text)
    case let list as [Any]: self = .list(list.map { JSONNode($0, depth: depth + 1).asElement })
    case let members as [String: Any]:
      self = .object(members.mapValues { JSONNode($0, depth: depth + 1).asElement })
    case let value?: self = Self.scalar(value)
    }
  }

  private static func scalar(_ value: Any) -> JSONNode {
    switch value {
    // Foundation's true casts to each number type, so only the type's name distinguishes it.
    case let flag as Bool where type(of: value) == Bool.self || "\(type(of: value))" == "__NSCFBoolean": .flag(flag)
    case let number as Int: .integer(number)
    case let number as any FixedWidthInteger: Int(exactly: number).map { .integer($0) } ?? .near(Double(number))
    case let number as NSDecimalNumber: .near(number.doubleValue)
    case let number as UInt64: .near(Double(number))
    case let number as any BinaryFloatingPoint: .fraction(Double(number))
    case let number as NSNumber: .fraction(number.doubleValue)
    default: Casts.unwrapped(value) == nil ? .missing : .other("\(type(of: value))")
    }
  }

  /// A nil element is a null, as encoders write it.
  private var asElement: JSONNode { if case .missing = self { .null } else { self } }

  /// The name of the value's type, in JSON's terms.
  var name: String {
    switch self {
    case .missing: "missing"
    case .null: "null"
    case .flag: "a truth"
    case .integer, .fraction, .near: "a number"
    case .text: "a text"
    case .list: "an array"
    case .object: "an object"
    case .other(let type): "a \(type)"
    }
  }

  /// The value, where it is one that may be converted.
  var scalar: Any? {
    switch self {
    case .flag(let flag): flag
    case .integer(let number): number
    case .fraction(let number): number
    case .text(let text): text
    // Converting it would return another number than the one in the text.
    case .missing, .null, .near, .list, .object, .other: nil
    }
  }

  /// The value as Foundation's type; nil if there is none.
  var plain: Any? {
    switch self {
    case .missing: nil
    case .null: NSNull()
    // A forced cast of Foundation's numbers ends in another way than one of Swift's.
    case .flag(let flag): NSNumber(value: flag)
    case .integer(let number): NSNumber(value: number)
    case .fraction(let number), .near(let number): NSNumber(value: number)
    case .text(let text): text
    case .list(let elements): elements.map { $0.plain ?? NSNull() }
    case .object(let members): members.mapValues { $0.plain ?? NSNull() }
    // An object that is none of the types a program can ask for.
    case .other: NSObject()
    }
  }
}
