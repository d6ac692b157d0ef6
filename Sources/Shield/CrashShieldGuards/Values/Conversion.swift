public import CrashShield

extension FixedWidthInteger {
  /// Converts the number; if this type cannot hold it, uses the nearest number that the type can hold, and records the
  /// fault as `conversion`.
  ///
  /// Replaces `Self(value)`, which ends the process in this case.
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

  /// Converts the number without its fraction; if this type cannot hold it, uses the nearest number and records the
  /// fault as `conversion`.
  ///
  /// NaN becomes 0, and the fault is recorded. Cutting off a fraction is not a fault.
  @inlinable
  public init(shielded value: some BinaryFloatingPoint, fileID: StaticString = #fileID, line: UInt = #line) {
    self.init(withoutFraction: value, fileID, line)
  }

  /// Converts a `Double` like the generic initializer, but faster: it compares the value with the bounds of the type.
  @inlinable
  public init(shielded value: Double, fileID: StaticString = #fileID, line: UInt = #line) {
    // `Double` rounds a bound that it cannot represent to the adjacent power of two. For types with such bounds, the
    // least number fails this comparison and takes the slow path.
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

  /// Returns a random number in the range; if the range is empty, returns `value` and records the fault as
  /// `emptyRange`.
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

/// Returns the numbers from `start` to `end` by a step; if the step is 0, returns no numbers and records the fault as
/// `zeroStride`.
///
/// Replaces `stride(from:to:by:)`, which ends the process in this case.
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
