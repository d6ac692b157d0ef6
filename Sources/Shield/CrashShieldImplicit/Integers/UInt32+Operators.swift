// The same for each integer type, since only what is written for the type itself wins over the standard library.
public import CrashShieldPlain

extension UInt32 {
  /// The sum; recorded as `arithmetic` where the type cannot hold it.
  @_transparent
  public static func + (left: UInt32, right: UInt32) -> UInt32 {
    let (result, isOver) = left.addingReportingOverflow(right)
    if _fastPath(!isOver) { return result }
    return handleArithmeticFault(.sum, UInt32.self) ? .max : left._plainSum(right)
  }

  /// The difference; recorded as `arithmetic` where the type cannot hold it.
  @_transparent
  public static func - (left: UInt32, right: UInt32) -> UInt32 {
    let (result, isOver) = left.subtractingReportingOverflow(right)
    if _fastPath(!isOver) { return result }
    return handleArithmeticFault(.difference, UInt32.self) ? .min : left._plainDifference(right)
  }

  /// The product; recorded as `arithmetic` where the type cannot hold it.
  @_transparent
  public static func * (left: UInt32, right: UInt32) -> UInt32 {
    let (result, isOver) = left.multipliedReportingOverflow(by: right)
    if _fastPath(!isOver) { return result }
    return handleArithmeticFault(.product, UInt32.self) ? .max : left._plainProduct(right)
  }

  /// The quotient, 0 for a division by 0; recorded as `arithmetic` where the type cannot hold it.
  @_transparent
  public static func / (left: UInt32, right: UInt32) -> UInt32 {
    let (result, isOver) = left.dividedReportingOverflow(by: right)
    if _fastPath(!isOver) { return result }
    return handleArithmeticFault(.quotient, UInt32.self) ? 0 : left._plainQuotient(right)
  }

  /// The remainder, 0 for a division by 0; recorded as `arithmetic` where the type cannot hold it.
  @_transparent
  public static func % (left: UInt32, right: UInt32) -> UInt32 {
    let (result, isOver) = left.remainderReportingOverflow(dividingBy: right)
    if _fastPath(!isOver) { return result }
    return handleArithmeticFault(.remainder, UInt32.self) ? 0 : left._plainRemainder(right)
  }

  /// Adds, as `+` does.
  @_transparent
  public static func += (left: inout UInt32, right: UInt32) { left = left + right }

  /// Subtracts, as `-` does.
  @_transparent
  public static func -= (left: inout UInt32, right: UInt32) { left = left - right }

  /// Multiplies, as `*` does.
  @_transparent
  public static func *= (left: inout UInt32, right: UInt32) { left = left * right }

  /// Divides, as `/` does.
  @_transparent
  public static func /= (left: inout UInt32, right: UInt32) { left = left / right }

  /// Leaves the remainder, as `%` does.
  @_transparent
  public static func %= (left: inout UInt32, right: UInt32) { left = left % right }
}
