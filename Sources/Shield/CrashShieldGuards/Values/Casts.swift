public import CrashShield

/// A type that has a fallback value.
public protocol ShieldDefault {
  /// The fallback value: zero, or empty.
  static var shieldDefault: Self { get }
}

extension Int: ShieldDefault {
  /// The fallback value.
  public static var shieldDefault: Int { 0 }
}

extension Double: ShieldDefault {
  /// The fallback value.
  public static var shieldDefault: Double { 0 }
}

extension Bool: ShieldDefault {
  /// The fallback value.
  public static var shieldDefault: Bool { false }
}

extension String: ShieldDefault {
  /// The fallback value.
  public static var shieldDefault: String { "" }
}

extension Array: ShieldDefault {
  /// The fallback value.
  public static var shieldDefault: [Element] { [] }
}

extension Dictionary: ShieldDefault {
  /// The fallback value.
  public static var shieldDefault: [Key: Value] { [:] }
}

extension Set: ShieldDefault {
  /// The fallback value.
  public static var shieldDefault: Set<Element> { [] }
}

extension Shield {
  /// The value as this type; nil where it is none, which is recorded as `cast`, or as `null` for a null.
  ///
  /// In place of `as!`, which ends the process. Converts between texts and numbers or booleans where nothing is lost
  /// ("42" to 42, 42 to "42", true to "true"; not " 42", not "3.5" to an integer). Records each conversion, too.
  @inlinable
  public static func cast<Target>(
    _ value: Any?, to target: Target.Type = Target.self, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Target? {
    // Everything casts to `Any`, also an optional that is nil.
    if Target.self != Any.self, let value, let cast = value as? Target { return cast }
    return otherwiseCast(value, to: target, ShieldSite(fileID: fileID, line: line))
  }

  /// The value as this type; its `shieldDefault` where it is none, which is recorded as `cast`, or as `null` for a null.
  @inlinable
  public static func cast<Target: ShieldDefault>(
    _ value: Any?, orDefault target: Target.Type = Target.self, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Target {
    cast(value, to: target, fileID: fileID, line: line) ?? .shieldDefault
  }

  /// The same for a value that is no optional: without wrapping it, a cast costs less than `as!`.
  @inlinable
  public static func cast<Target>(
    _ value: Any, to target: Target.Type = Target.self, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Target? {
    if let same = exactly(value, target) { return same }
    return askedCast(value, to: target, fileID, line)
  }

  /// The same for an object, which carries its type.
  @inlinable
  public static func cast<Object: AnyObject, Target>(
    _ value: Object, to target: Target.Type = Target.self, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Target? {
    if let cast = value as? Target { return cast }
    return otherwiseCast(value, to: target, ShieldSite(fileID: fileID, line: line))
  }

  /// The same for a value that is no optional: without wrapping it, a cast costs less than `as!`.
  @inlinable
  public static func cast<Target: ShieldDefault>(
    _ value: Any, orDefault target: Target.Type = Target.self, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Target {
    cast(value, to: target, fileID: fileID, line: line) ?? .shieldDefault
  }

  // Not inlined: the caller would retain the value for it before checking its type.
  @inlinable
  @inline(never)
  static func askedCast<Target>(
    _ value: Any, to target: Target.Type, _ fileID: StaticString, _ line: UInt
  ) -> Target? {
    if Target.self != Any.self, let cast = value as? Target { return cast }
    return otherwiseCast(value, to: target, ShieldSite(fileID: fileID, line: line))
  }

  // A value of exactly this type needs no look-up in the runtime's tables, which is the cost of `as`.
  @inlinable
  @inline(__always)
  static func exactly<Target>(_ value: Any, _ target: Target.Type) -> Target? {
    // Inlined: where the target type is known, an object is not retained again for the check of its type.
    @inline(__always) func opened<Value>(_ value: Value) -> Target? {
      // The types were compared just above.
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
    // A forced cast of what cannot be cast: the same trap as without the guard.
    // swift-format-ignore: NeverForceUnwrap
    guard isAbsorbed else { return .some(value as! Target) }
    return value.flatMap { Casts.converted($0, to: target) }
  }
}

/// The conversions between texts, numbers and booleans.
///
/// `CrashShieldFoundation` uses them, too.
package enum Casts {
  /// Optionals in `Any` may be nested.
  package static func unwrapped(_ value: Any?) -> Any? {
    // A type of the program may have a mirror of its own; an optional never has.
    guard let value, type(of: value) is any ExpressibleByNilLiteral.Type else { return value }
    let mirror = Mirror(reflecting: value)
    guard mirror.displayStyle == .optional else { return value }
    return unwrapped(mirror.children.first?.value)
  }

  package static func isNull(_ value: Any?) -> Bool {
    // Foundation's types; this module does not import it.
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
    // Foundation's true casts to each number type, so only the type's name distinguishes it.
    if "\(type(of: value))" == "__NSCFBoolean", let flag = value as? Bool { return "\(flag)" as? Target }
    if let flag = value as? Bool, type(of: value) == Bool.self { return "\(flag)" as? Target }
    if let number = value as? any FixedWidthInteger { return "\(number)" as? Target }
    if let number = value as? any BinaryFloatingPoint { return "\(number)" as? Target }
    // Foundation's type.
    if let number = value as? Int { return "\(number)" as? Target }
    if let number = value as? Double { return "\(number)" as? Target }
    return nil
  }
}
