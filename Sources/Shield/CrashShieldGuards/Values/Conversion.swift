public import CrashShield

extension FixedWidthInteger {
  /// The number in this type; the nearest one if the type cannot hold it, which is recorded as `conversion`.
  ///
  /// In place of `Self(value)`, which ends the process.
  @inlinable
  public init(shielded value: some BinaryInteger, fileID: StaticString = #fileID, line: UInt = #line) {
    if let exact = Self(exactly: value) {
      self = exact
    } else if handleConversionFault(value, Self.self, fileID, line) {
      self = Self(clamping: value)
    } else {
      self = Self(value)
    }
  }

  /// The number without its fraction; the nearest one if the type cannot hold it, which is recorded as `conversion`.
  ///
  /// NaN becomes 0. Cutting off a fraction is no fault.
  @inlinable
  public init(shielded value: some BinaryFloatingPoint, fileID: StaticString = #fileID, line: UInt = #line) {
    self.init(withoutFraction: value, fileID, line)
  }

  /// The same of a `Double`, which is compared with the bounds of the type.
  @inlinable
  public init(shielded value: Double, fileID: StaticString = #fileID, line: UInt = #line) {
    // Where a bound has too many digits, it is rounded to the power of two beside it; the least number then takes the other way.
    if Self.bitWidth <= 64, value > Double(Self.min) - 1, value < Double(Self.max) + 1 {
      self = Self.isSigned ? Self(truncatingIfNeeded: Int64(value)) : Self(truncatingIfNeeded: UInt64(value))
    } else {
      self.init(withoutFraction: value, fileID, line)
    }
  }

  @inlinable
  init(withoutFraction value: some BinaryFloatingPoint, _ fileID: StaticString, _ line: UInt) {
    if let exact = Self(exactly: value.rounded(.towardZero)) {
      self = exact
    } else if handleConversionFault(value, Self.self, fileID, line) {
      self = value.isNaN ? 0 : value < 0 ? .min : .max
    } else {
      self = Self(value)
    }
  }

  /// A random number of the range; `value` for an empty range, which is recorded as `emptyRange`.
  @inlinable
  public static func shieldedRandom(
    in range: Range<Self>, or value: @autoclosure () -> Self, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Self {
    if !range.isEmpty { return random(in: range) }
    let site = ShieldSite(fileID: fileID, line: line)
    guard Shield.handleFault(.emptyRange, at: site, { "an empty range of \(Self.self)" }) else {
      return random(in: range)
    }
    return value()
  }
}

/// The steps from one number to another; none for a step of 0, which is recorded as `zeroStride`.
///
/// In place of `stride(from:to:by:)`, which ends the process.
@inlinable
public func shieldedStride<Number: Strideable>(
  from start: Number, to end: Number, by step: Number.Stride, fileID: StaticString = #fileID, line: UInt = #line
) -> StrideTo<Number> {
  if step == 0 {
    let site = ShieldSite(fileID: fileID, line: line)
    if Shield.handleFault(.zeroStride, at: site, { "steps of no length of \(Number.self)" }) {
      return stride(from: start, to: start, by: 1)
    }
  }
  return stride(from: start, to: end, by: step)
}

@inline(never)
@usableFromInline
func handleConversionFault<Value, Number>(
  _: Value, _: Number.Type, _ fileID: StaticString, _ line: UInt
) -> Bool {
  Shield.handleFault(.conversion, at: ShieldSite(fileID: fileID, line: line)) {
    "a \(Value.self) that \(Number.self) cannot hold"
  }
}
