internal import CrashShield

extension FixedWidthInteger {
  /// The sum; the nearest number that the type has where it is out of bounds, which is recorded as `arithmetic`.
  @inlinable
  public func shieldedAdding(_ other: Self, fileID: StaticString = #fileID, line: UInt = #line) -> Self {
    let (result, isOver) = addingReportingOverflow(other)
    if _fastPath(!isOver) { return result }
    guard handleArithmeticFault("sum", Self.self, fileID, line) else { return self + other }
    return kept(other < 0 ? .min : .max)
  }

  /// The difference; the nearest number that the type has where it is out of bounds, which is recorded as `arithmetic`.
  @inlinable
  public func shieldedSubtracting(_ other: Self, fileID: StaticString = #fileID, line: UInt = #line) -> Self {
    let (result, isOver) = subtractingReportingOverflow(other)
    if _fastPath(!isOver) { return result }
    guard handleArithmeticFault("difference", Self.self, fileID, line) else { return self - other }
    return kept(other < 0 ? .max : .min)
  }

  /// The product; the nearest number that the type has where it is out of bounds, which is recorded as `arithmetic`.
  @inlinable
  public func shieldedMultiplied(by other: Self, fileID: StaticString = #fileID, line: UInt = #line) -> Self {
    let (result, isOver) = multipliedReportingOverflow(by: other)
    if _fastPath(!isOver) { return result }
    guard handleArithmeticFault("product", Self.self, fileID, line) else { return self * other }
    return kept((self < 0) == (other < 0) ? .max : .min)
  }

  /// The quotient; `value` for a division by zero, the greatest number where it is out of bounds, which is recorded as `arithmetic`.
  @inlinable
  public func shieldedDivided(
    by other: Self, or value: @autoclosure () -> Self = 0, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Self {
    let (result, isOver) = dividedReportingOverflow(by: other)
    if _fastPath(!isOver) { return result }
    guard handleArithmeticFault("quotient", Self.self, fileID, line) else { return self / other }
    return kept(other == 0 ? value() : .max)
  }

  /// The remainder; `value` for a division by zero, 0 where the quotient is out of bounds, which is recorded as `arithmetic`.
  @inlinable
  public func shieldedRemainder(
    dividingBy other: Self, or value: @autoclosure () -> Self = 0, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Self {
    let (result, isOver) = remainderReportingOverflow(dividingBy: other)
    if _fastPath(!isOver) { return result }
    guard handleArithmeticFault("remainder", Self.self, fileID, line) else { return self % other }
    return kept(other == 0 ? value() : 0)
  }
}

extension FixedWidthInteger {
  /// Adds to the number; the nearest number that the type has where the sum is out of bounds, which is recorded as `arithmetic`.
  ///
  /// In place of `+=`.
  @inlinable
  public mutating func shieldedAdd(_ other: Self, fileID: StaticString = #fileID, line: UInt = #line) {
    self = shieldedAdding(other, fileID: fileID, line: line)
  }

  /// Subtracts from the number; the nearest number that the type has where the difference is out of bounds, which is recorded
  /// as `arithmetic`.
  ///
  /// In place of `-=`.
  @inlinable
  public mutating func shieldedSubtract(_ other: Self, fileID: StaticString = #fileID, line: UInt = #line) {
    self = shieldedSubtracting(other, fileID: fileID, line: line)
  }

  /// Multiplies the number; the nearest number that the type has where the product is out of bounds, which is recorded as
  /// `arithmetic`.
  ///
  /// In place of `*=`.
  @inlinable
  public mutating func shieldedMultiply(by other: Self, fileID: StaticString = #fileID, line: UInt = #line) {
    self = shieldedMultiplied(by: other, fileID: fileID, line: line)
  }

  /// Divides the number; `value` for a division by zero, the greatest number where the quotient is out of bounds, which is
  /// recorded as `arithmetic`.
  ///
  /// In place of `/=`.
  @inlinable
  public mutating func shieldedDivide(
    by other: Self, or value: @autoclosure () -> Self = 0, fileID: StaticString = #fileID, line: UInt = #line
  ) {
    self = shieldedDivided(by: other, or: value(), fileID: fileID, line: line)
  }
}

extension FixedWidthInteger where Self: SignedInteger {
  /// The number with the other sign; the greatest where the type has it not, which is recorded as `arithmetic`.
  @inlinable
  public func shieldedNegated(fileID: StaticString = #fileID, line: UInt = #line) -> Self {
    let (result, isOver) = Self.zero.subtractingReportingOverflow(self)
    if _fastPath(!isOver) { return result }
    guard handleArithmeticFault("negation", Self.self, fileID, line) else { return -self }
    return kept(.max)
  }

  /// The number without its sign; the greatest where the type has it not, which is recorded as `arithmetic`.
  @inlinable
  public func shieldedMagnitude(fileID: StaticString = #fileID, line: UInt = #line) -> Self {
    if self != .min { return self < 0 ? 0 &- self : self }
    guard handleArithmeticFault("magnitude", Self.self, fileID, line) else { return Swift.abs(self) }
    return kept(.max)
  }
}

extension Sequence where Element: FixedWidthInteger {
  /// The sum of all, which stops at the least or greatest number of the type; that it did is recorded as `arithmetic`, once.
  @inlinable
  public func shieldedSum(fileID: StaticString = #fileID, line: UInt = #line) -> Element {
    var sum = Element.zero
    var isAbsorbed = false
    for element in self {
      let (result, isOver) = sum.addingReportingOverflow(element)
      if isOver && !isAbsorbed && !handleArithmeticFault("sum", Element.self, fileID, line) { return sum + element }
      isAbsorbed = isAbsorbed || isOver
      sum = isOver ? (element < 0 ? .min : .max) : result
    }
    return sum
  }
}

@inline(never)
@usableFromInline
func handleArithmeticFault<Number>(
  _ operation: StaticString, _: Number.Type, _ fileID: StaticString, _ line: UInt
) -> Bool {
  Shield.handleFault(.arithmetic, at: ShieldSite(fileID: fileID, line: line)) {
    "a \(operation) that \(Number.self) cannot hold"
  }
}
