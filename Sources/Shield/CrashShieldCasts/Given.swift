internal import CrashShieldGuards

/// The fallback value of a failing forced cast.
///
/// Invents nothing: a null becomes the fallback value of the type, and a number or text is converted only where nothing
/// is lost.
enum Given {
  /// The fallback value, or nil if there is none; `value` is nil for a null.
  static func value<Target>(for value: Any?, as target: Target.Type = Target.self) -> Target? {
    if let optional = target as? any OptionalTarget.Type {
      func opened<Kind: OptionalTarget>(_: Kind.Type) -> Target? {
        // `Kind` is `Target`. A cast would convert an optional that is nil to "no value".
        Kind.given(for: value).map { unsafe unsafeBitCast($0, to: Target.self) }
      }
      return opened(optional)
    }
    guard let value else { return DefaultValue.value() }
    return Casts.converted(value, to: target)
  }
}

/// An optional of any type.
private protocol OptionalTarget {
  static func given(for value: Any?) -> Self?
}

extension Optional: OptionalTarget {
  fileprivate static func given(for value: Any?) -> Wrapped?? {
    // A null is never the fallback value of a type that has one.
    guard value != nil else { return DefaultValue.exists(of: Wrapped.self) ? .some(nil) : nil }
    return Given.value(for: value, as: Wrapped.self).map { .some($0) }
  }
}
