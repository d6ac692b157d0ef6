// The same for each integer type, since only what is written for the type itself wins over the standard library.
public import CrashShieldPlain

extension Int {
  /// The sum; recorded as `arithmetic` where the type cannot hold it.
  @_transparent
  public static func + (left: Int, right: Int) -> Int {
    let (result, isOver) = left.addingReportingOverflow(right)
    if _fastPath(!isOver) { return result }
    return handleArithmeticFault(.sum, Int.self) ? (right < 0 ? .min : .max) : left._plainSum(right)
  }

  /// The difference; recorded as `arithmetic` where the type cannot hold it.
  @_transparent
  public static func - (left: Int, right: Int) -> Int {
    let (result, isOver) = left.subtractingReportingOverflow(right)
    if _fastPath(!isOver) { return result }
    return handleArithmeticFault(.difference, Int.self) ? (right < 0 ? .max : .min) : left._plainDifference(right)
  }

  /// The product; recorded as `arithmetic` where the type cannot hold it.
  @_transparent
  public static func * (left: Int, right: Int) -> Int {
    let (result, isOver) = left.multipliedReportingOverflow(by: right)
    if _fastPath(!isOver) { return result }
    return handleArithmeticFault(.product, Int.self)
      ? ((left < 0) == (right < 0) ? .max : .min) : left._plainProduct(right)
  }

  /// The quotient, 0 for a division by 0; recorded as `arithmetic` where the type cannot hold it.
  @_transparent
  public static func / (left: Int, right: Int) -> Int {
    let (result, isOver) = left.dividedReportingOverflow(by: right)
    if _fastPath(!isOver) { return result }
    return handleArithmeticFault(.quotient, Int.self) ? (right == 0 ? 0 : .max) : left._plainQuotient(right)
  }

  /// The remainder, 0 for a division by 0; recorded as `arithmetic` where the type cannot hold it.
  @_transparent
  public static func % (left: Int, right: Int) -> Int {
    let (result, isOver) = left.remainderReportingOverflow(dividingBy: right)
    if _fastPath(!isOver) { return result }
    return handleArithmeticFault(.remainder, Int.self) ? 0 : left._plainRemainder(right)
  }

  /// Adds, as `+` does.
  @_transparent
  public static func += (left: inout Int, right: Int) { left = left + right }

  /// Subtracts, as `-` does.
  @_transparent
  public static func -= (left: inout Int, right: Int) { left = left - right }

  /// Multiplies, as `*` does.
  @_transparent
  public static func *= (left: inout Int, right: Int) { left = left * right }

  /// Divides, as `/` does.
  @_transparent
  public static func /= (left: inout Int, right: Int) { left = left / right }

  /// Leaves the remainder, as `%` does.
  @_transparent
  public static func %= (left: inout Int, right: Int) { left = left % right }

  /// The number with the other sign; recorded as `arithmetic` where the type cannot hold it.
  @_transparent
  public static prefix func - (number: Int) -> Int {
    let (result, isOver) = (0 as Int).subtractingReportingOverflow(number)
    if _fastPath(!isOver) { return result }
    return handleArithmeticFault(.negation, Int.self) ? .max : number._plainNegation()
  }
}
