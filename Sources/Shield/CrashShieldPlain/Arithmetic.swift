// The standard library's operators under other names. CrashShieldImplicit calls these functions, because its own
// operators replace the operators of the standard library in files that import CrashShieldImplicit.
extension FixedWidthInteger {
  /// The standard library's `+`, without a guard.
  @_transparent
  public func _plainSum(_ other: Self) -> Self { self + other }

  /// The standard library's `-`, without a guard.
  @_transparent
  public func _plainDifference(_ other: Self) -> Self { self - other }

  /// The standard library's `*`, without a guard.
  @_transparent
  public func _plainProduct(_ other: Self) -> Self { self * other }

  /// The standard library's `/`, without a guard.
  @_transparent
  public func _plainQuotient(_ other: Self) -> Self { self / other }

  /// The standard library's `%`, without a guard.
  @_transparent
  public func _plainRemainder(_ other: Self) -> Self { self % other }
}

extension FixedWidthInteger where Self: SignedNumeric {
  /// The standard library's `-` of one number, without a guard.
  @_transparent
  public func _plainNegation() -> Self { -self }
}
