// The standard library's operators under other names. CrashShieldImplicit calls these functions, because its own
// operators replace the operators of the standard library in files that import CrashShieldImplicit.
extension FixedWidthInteger {
  /// Adds with the standard library's `+`, without a guard.
  @_transparent
  public func _plainSum(_ other: Self) -> Self { self + other }

  /// Subtracts with the standard library's `-`, without a guard.
  @_transparent
  public func _plainDifference(_ other: Self) -> Self { self - other }

  /// Multiplies with the standard library's `*`, without a guard.
  @_transparent
  public func _plainProduct(_ other: Self) -> Self { self * other }

  /// Divides with the standard library's `/`, without a guard.
  @_transparent
  public func _plainQuotient(_ other: Self) -> Self { self / other }

  /// Returns the remainder with the standard library's `%`, without a guard.
  @_transparent
  public func _plainRemainder(_ other: Self) -> Self { self % other }
}

extension FixedWidthInteger where Self: SignedNumeric {
  /// Negates with the standard library's `-`, without a guard.
  @_transparent
  public func _plainNegation() -> Self { -self }
}
