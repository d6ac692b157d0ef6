internal import CrashShield
internal import CrashShieldGuards
public import Foundation

extension FixedWidthInteger {
  /// The number without its fraction; the nearest one if the type cannot hold it, which is recorded as `conversion`.
  ///
  /// NaN becomes 0. Cutting off a fraction is no fault. In place of `NSDecimalNumber.intValue`, which silently returns
  /// some other number: it has no trap, so the value is the same in every mode.
  public init(shielded value: Decimal, fileID: StaticString = #fileID, line: UInt = #line) {
    var (value, whole) = (value, Decimal())
    // Both are whole structures, which the function reads and fills in.
    unsafe NSDecimalRound(&whole, &value, 0, value < 0 ? .up : .down)
    // A whole decimal prints as digits alone.
    if !value.isNaN, let number = Self(whole.description) {
      self = number
      return
    }
    Shield.recordFault(.conversion, at: ShieldSite(fileID: fileID, line: line)) {
      "a Decimal that \(Self.self) cannot hold"
    }
    self = value.isNaN ? 0 : value < 0 ? .min : .max
  }
}
