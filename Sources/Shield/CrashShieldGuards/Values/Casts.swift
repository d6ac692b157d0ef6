public import CrashShield

/// A type that has a fallback value.
public protocol ShieldDefault {
  /// The fallback value of the type: its zero or empty value.
  static var shieldDefault: Self { get }
}

extension Int: ShieldDefault {
  /// The fallback value of an `Int`: 0.
  public static var shieldDefault: Int { 0 }
}

extension Double: ShieldDefault {
  /// The fallback value of a `Double`: 0.
  public static var shieldDefault: Double { 0 }
}

extension Bool: ShieldDefault {
  /// The fallback value of a `Bool`: false.
  public static var shieldDefault: Bool { false }
}

extension String: ShieldDefault {
  /// The fallback value of a `String`: an empty string.
  public static var shieldDefault: String { "" }
}

extension Array: ShieldDefault {
  /// The fallback value of an array: an empty array.
  public static var shieldDefault: [Element] { [] }
}

extension Dictionary: ShieldDefault {
  /// The fallback value of a dictionary: an empty dictionary.
  public static var shieldDefault: [Key: Value] { [:] }
}

extension Set: ShieldDefault {
  /// The fallback value of a set: an empty set.
  public static var shieldDefault: Set<Element> { [] }
}

extension Shield {
  /// Returns the value as this type; if it has another type, returns nil and records the fault as `cast`, or as `null`
  /// for a null.
  ///
  /// Replaces `as!`, which ends the process in this case. The function also converts between strings and numbers or
  /// booleans if the conversion is lossless. The function converts "42" to 42, 42 to "42" and "true" to true, but
  /// neither " 42" to 42 nor "3.5" to an integer. Each conversion is recorded as well.
  @inlinable
  public static func cast<Target>(
    _ value: Any?, to target: Target.Type = Target.self, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Target? {
    // Do not use `as?` for `Any`: every value can be cast to `Any`, even a nil optional.
    if Target.self != Any.self, let value, let cast = value as? Target { return cast }
    return otherwiseCast(value, to: target, ShieldSite(fileID: fileID, line: line))
  }

  /// Returns the value as this type; if it has another type, returns `shieldDefault` and records the fault as `cast`,
  /// or as `null` for a null.
  @inlinable
  public static func cast<Target: ShieldDefault>(
    _ value: Any?, orDefault target: Target.Type = Target.self, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Target {
    cast(value, to: target, fileID: fileID, line: line) ?? .shieldDefault
  }

  /// Casts a value that is not wrapped in an optional; this cast is faster than `as!`.
  @inlinable
  public static func cast<Target>(
    _ value: Any, to target: Target.Type = Target.self, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Target? {
    if let same = exactly(value, target) { return same }
    return askedCast(value, to: target, fileID, line)
  }

  /// Casts an object, whose header contains its type.
  @inlinable
  public static func cast<Object: AnyObject, Target>(
    _ value: Object, to target: Target.Type = Target.self, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Target? {
    if let cast = value as? Target { return cast }
    return otherwiseCast(value, to: target, ShieldSite(fileID: fileID, line: line))
  }

  /// Casts a value that is not wrapped in an optional; this cast is faster than `as!`.
  @inlinable
  public static func cast<Target: ShieldDefault>(
    _ value: Any, orDefault target: Target.Type = Target.self, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Target {
    cast(value, to: target, fileID: fileID, line: line) ?? .shieldDefault
  }

  // Not inlined, because the caller would otherwise retain the value before checking its type.
  @inlinable
  @inline(never)
  static func askedCast<Target>(
    _ value: Any, to target: Target.Type, _ fileID: StaticString, _ line: UInt
  ) -> Target? {
    if Target.self != Any.self, let cast = value as? Target { return cast }
    return otherwiseCast(value, to: target, ShieldSite(fileID: fileID, line: line))
  }

  // Casts a value of exactly this type without the lookup in the runtime's tables, which takes most of the time of
  // `as`.
  @inlinable
  @inline(__always)
  static func exactly<Target>(_ value: Any, _ target: Target.Type) -> Target? {
    // Inlined: if the target type is known, the check of an object's type then needs no additional retain.
    @inline(__always) func opened<Value>(_ value: Value) -> Target? {
      // Invariant: both types are the same, as the comparison in this expression checks.
      Value.self == Target.self ? unsafe unsafeBitCast(value, to: Target.self) : nil
    }
    return opened(value)
  }

  @inline(never)
  @usableFromInline
  static func otherwiseCast<Target>(_ value: Any?, to target: Target.Type, _ site: ShieldSite) -> Target? {
    let value = Casts.unwrapped(value)
    if let cast = value as? Target { return cast }
    let isAbsorbed = handleFault(Casts.isNull(value) ? .null : .cast, at: site) { Casts.reason(value, target) }
    // Performs the forced cast, which fails with the same trap as without the guard.
    // swift-format-ignore: NeverForceUnwrap
    guard isAbsorbed else { return .some(value as! Target) }
    return value.flatMap { Casts.converted($0, to: target) }
  }
}

/// Conversions between strings, numbers and booleans; `CrashShieldFoundation` uses them, too.
package enum Casts {
  /// Removes all levels of optionals that are nested inside `Any`.
  package static func unwrapped(_ value: Any?) -> Any? {
    // Use the mirror only of optionals, because a type of the program can have a custom mirror.
    guard let value, type(of: value) is any ExpressibleByNilLiteral.Type else { return value }
    let mirror = Mirror(reflecting: value)
    guard mirror.displayStyle == .optional else { return value }
    return unwrapped(mirror.children.first?.value)
  }

  package static func isNull(_ value: Any?) -> Bool {
    // Compare the name, because this module does not import Foundation, which declares NSNull.
    value.map { "\(type(of: $0))" == "NSNull" } ?? true
  }

  package static func reason(_ value: Any?, _ target: Any.Type) -> String {
    "\(value.map { "a \(type(of: $0))" } ?? "nil") where a \(target) was expected"
  }

  package static func converted<Target>(_ value: Any, to target: Target.Type) -> Target? {
    if let text = value as? String {
      if target == Int.self { return Int(text) as? Target }
      if target == Double.self { return Double(text) as? Target }
      if target == Bool.self { return Bool(text) as? Target }
      if let integer = target as? any FixedWidthInteger.Type { return integer.init(text, radix: 10) as? Target }
      if let number = target as? any (BinaryFloatingPoint & LosslessStringConvertible).Type {
        return number.init(text) as? Target
      }
      return nil
    }
    guard target == String.self else { return nil }
    // Compare the name of the class, which is the only difference between Foundation's `true` and a number: both can be
    // cast to each number type.
    if "\(type(of: value))" == "__NSCFBoolean", let flag = value as? Bool { return "\(flag)" as? Target }
    if let flag = value as? Bool, type(of: value) == Bool.self { return "\(flag)" as? Target }
    if let number = value as? any FixedWidthInteger { return "\(number)" as? Target }
    if let number = value as? any BinaryFloatingPoint { return "\(number)" as? Target }
    // These casts also accept Foundation's NSNumber.
    if let number = value as? Int { return "\(number)" as? Target }
    if let number = value as? Double { return "\(number)" as? Target }
    return nil
  }
}
