internal import CrashShieldGuards

/// What a forced cast gives that would end the process.
///
/// Nothing that is not there: what a null stands for, and a number or a text that is the very one in other words.
enum Given {
  /// nil: there is none; of a value, that it is a null.
  static func value<Target>(for value: Any?, as target: Target.Type = Target.self) -> Target? {
    if let optional = target as? any OptionalTarget.Type {
      func opened<Kind: OptionalTarget>(_: Kind.Type) -> Target? {
        // `Kind` is `Target`. A cast would take nothing for an optional that is nil.
        Kind.given(for: value).map { unsafe unsafeBitCast($0, to: Target.self) }
      }
      return opened(optional)
    }
    guard let value else { return DefaultValue.value() }
    return Casts.converted(value, to: target)
  }
}

/// An optional, of whatever type.
private protocol OptionalTarget {
  static func given(for value: Any?) -> Self?
}

extension Optional: OptionalTarget {
  fileprivate static func given(for value: Any?) -> Wrapped?? {
    // A null is no value of any type that has one.
    guard value != nil else { return DefaultValue.exists(of: Wrapped.self) ? .some(nil) : nil }
    return Given.value(for: value, as: Wrapped.self).map { .some($0) }
  }
}
