internal import CrashShieldGuards

/// The fallback value of a failing forced cast.
///
/// For a null (nil or `NSNull`), this is the fallback value of the target type. A number or string is converted to the
/// target type if the conversion is lossless. For any other value, there is no fallback value.
enum Given {
  /// Returns the fallback value for `value`, or nil if there is none; for a null, `value` is nil.
  static func value<Target>(for value: Any?, as target: Target.Type = Target.self) -> Target? {
    if let optional = target as? any OptionalTarget.Type {
      func opened<Kind: OptionalTarget>(_: Kind.Type) -> Target? {
        // Invariant: `Kind` is `Target`. `as?` is not possible here: its result would be nil both for a failed cast and
        // for a fallback value that is a nil optional.
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
    // nil is the fallback value only if the wrapped type has a fallback value.
    guard value != nil else { return DefaultValue.exists(of: Wrapped.self) ? .some(nil) : nil }
    return Given.value(for: value, as: Wrapped.self).map { .some($0) }
  }
}
