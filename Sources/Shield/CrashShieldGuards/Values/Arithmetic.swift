internal import CrashShield

extension FixedWidthInteger {
  /// Returns the sum; if the type cannot hold it, returns the nearest number that the type can hold, and records the
  /// fault as `arithmetic`.
  @inlinable
  public func shieldedAdding(_ other: Self, fileID: StaticString = #fileID, line: UInt = #line) -> Self {
    let (result, isOver) = addingReportingOverflow(other)
    if _fastPath(!isOver) { return result }
    guard handleArithmeticFault("sum", Self.self, fileID, line) else { return self + other }
    return kept(other < 0 ? .min : .max)
  }

  /// Returns the difference; if the type cannot hold it, returns the nearest number that the type can hold, and records
  /// the fault as `arithmetic`.
  @inlinable
  public func shieldedSubtracting(_ other: Self, fileID: StaticString = #fileID, line: UInt = #line) -> Self {
    let (result, isOver) = subtractingReportingOverflow(other)
    if _fastPath(!isOver) { return result }
    guard handleArithmeticFault("difference", Self.self, fileID, line) else { return self - other }
    return kept(other < 0 ? .max : .min)
  }

  /// Returns the product; if the type cannot hold it, returns the nearest number that the type can hold, and records
  /// the fault as `arithmetic`.
  @inlinable
  public func shieldedMultiplied(by other: Self, fileID: StaticString = #fileID, line: UInt = #line) -> Self {
    let (result, isOver) = multipliedReportingOverflow(by: other)
    if _fastPath(!isOver) { return result }
    guard handleArithmeticFault("product", Self.self, fileID, line) else { return self * other }
    return kept((self < 0) == (other < 0) ? .max : .min)
  }

  /// Returns the quotient; if there is none, returns a fallback value and records the fault as `arithmetic`.
  ///
  /// The fallback value is `value` for a division by zero, and the type's greatest number for a quotient above that
  /// number.
  @inlinable
  public func shieldedDivided(
    by other: Self, or value: @autoclosure () -> Self = 0, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Self {
    let (result, isOver) = dividedReportingOverflow(by: other)
    if _fastPath(!isOver) { return result }
    guard handleArithmeticFault("quotient", Self.self, fileID, line) else { return self / other }
    return kept(other == 0 ? value() : .max)
  }

  /// Returns the remainder; if there is none, returns a fallback value and records the fault as `arithmetic`.
  ///
  /// The fallback value is `value` for a division by zero, and 0 if the type cannot hold the quotient.
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
  /// Adds to the number; if the type cannot hold the sum, stores the nearest number that the type can hold, and records
  /// the fault as `arithmetic`.
  ///
  /// Replaces `+=`.
  @inlinable
  public mutating func shieldedAdd(_ other: Self, fileID: StaticString = #fileID, line: UInt = #line) {
    self = shieldedAdding(other, fileID: fileID, line: line)
  }

  /// Subtracts from the number; if the type cannot hold the difference, stores the nearest number that the type can
  /// hold, and records the fault as `arithmetic`.
  ///
  /// Replaces `-=`.
  @inlinable
  public mutating func shieldedSubtract(_ other: Self, fileID: StaticString = #fileID, line: UInt = #line) {
    self = shieldedSubtracting(other, fileID: fileID, line: line)
  }

  /// Multiplies the number; if the type cannot hold the product, stores the nearest number that the type can hold, and
  /// records the fault as `arithmetic`.
  ///
  /// Replaces `*=`.
  @inlinable
  public mutating func shieldedMultiply(by other: Self, fileID: StaticString = #fileID, line: UInt = #line) {
    self = shieldedMultiplied(by: other, fileID: fileID, line: line)
  }

  /// Divides the number; if there is no quotient, stores a fallback value and records the fault as `arithmetic`.
  ///
  /// The fallback value is `value` for a division by zero, and the type's greatest number for a quotient above that
  /// number. Replaces `/=`.
  @inlinable
  public mutating func shieldedDivide(
    by other: Self, or value: @autoclosure () -> Self = 0, fileID: StaticString = #fileID, line: UInt = #line
  ) {
    self = shieldedDivided(by: other, or: value(), fileID: fileID, line: line)
  }
}

extension FixedWidthInteger where Self: SignedInteger {
  /// Returns the negated number; if the type cannot hold it, returns the type's greatest number and records the fault
  /// as `arithmetic`.
  @inlinable
  public func shieldedNegated(fileID: StaticString = #fileID, line: UInt = #line) -> Self {
    let (result, isOver) = Self.zero.subtractingReportingOverflow(self)
    if _fastPath(!isOver) { return result }
    guard handleArithmeticFault("negation", Self.self, fileID, line) else { return -self }
    return kept(.max)
  }

  /// Returns the absolute value; if the type cannot hold it, returns the type's greatest number and records the fault
  /// as `arithmetic`.
  @inlinable
  public func shieldedMagnitude(fileID: StaticString = #fileID, line: UInt = #line) -> Self {
    if self != .min { return self < 0 ? 0 &- self : self }
    guard handleArithmeticFault("magnitude", Self.self, fileID, line) else { return Swift.abs(self) }
    return kept(.max)
  }
}

extension Sequence where Element: FixedWidthInteger {
  /// Returns the sum of all elements, with saturation: if adding an element overflows, the sum becomes the type's least
  /// or greatest number.
  ///
  /// The first overflow is recorded as `arithmetic`.
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
