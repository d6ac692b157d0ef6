internal import CrashShieldGuards
internal import Foundation

/// A copy of a JSON value.
enum JSONNode: Sendable {
  case missing
  case null
  case flag(Bool)
  case integer(Int)
  case fraction(Double)
  // The nearest `Double` to a number that neither `Int` nor `Double` can hold exactly.
  case near(Double)
  case text(String)
  case list([JSONNode])
  case object([String: JSONNode])
  // A value of another type; contains the name of this type.
  case other(String)

  // The nesting depth of a JSON document is untrusted, and the stack is limited. In a debug build, 128 levels fit into
  // a stack of 1 MiB.
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
    // Compare the name of the class, which is the only difference between Foundation's `true` and a number: both can be
    // cast to each number type.
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

  /// The node as an array element; a missing value becomes a null, as encoders write a nil element.
  private var asElement: JSONNode { if case .missing = self { .null } else { self } }

  /// The name of the value's type, in JSON's terms.
  var name: String {
    switch self {
    case .missing: "missing"
    case .null: "null"
    case .flag: "a boolean"
    case .integer, .fraction, .near: "a number"
    case .text: "a text"
    case .list: "an array"
    case .object: "an object"
    case .other(let type): "a \(type)"
    }
  }

  /// The value if it can be converted to another type; otherwise nil.
  var scalar: Any? {
    switch self {
    case .flag(let flag): flag
    case .integer(let number): number
    case .fraction(let number): number
    case .text(let text): text
    // Do not convert `near`: it differs from the number in the JSON document.
    case .missing, .null, .near, .list, .object, .other: nil
    }
  }

  /// The value as a Foundation type; nil if the value is missing.
  var plain: Any? {
    switch self {
    case .missing: nil
    case .null: NSNull()
    // Use NSNumber, as `JSONSerialization` does: a forced cast of an NSNumber fails differently from a cast of a Swift
    // number.
    case .flag(let flag): NSNumber(value: flag)
    case .integer(let number): NSNumber(value: number)
    case .fraction(let number), .near(let number): NSNumber(value: number)
    case .text(let text): text
    case .list(let elements): elements.map { $0.plain ?? NSNull() }
    case .object(let members): members.mapValues { $0.plain ?? NSNull() }
    // An object that no forced cast of the program accepts.
    case .other: NSObject()
    }
  }
}
