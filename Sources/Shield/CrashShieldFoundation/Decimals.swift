internal import CrashShield
internal import CrashShieldGuards
public import Foundation

extension FixedWidthInteger {
  /// Converts the number without its fraction; if the type cannot hold it, uses the nearest number and records the
  /// fault as `conversion`.
  ///
  /// NaN becomes 0, and the fault is recorded. Cutting off a fraction is not a fault. This initializer replaces
  /// `NSDecimalNumber.intValue`, which silently returns a wrong number. Because the replaced operation does not trap,
  /// this initializer returns the same value in every guard mode.
  public init(shielded value: Decimal, fileID: StaticString = #fileID, line: UInt = #line) {
    var (value, whole) = (value, Decimal())
    // Invariant: the function reads the whole structure `value` and fills in the whole structure `whole`.
    unsafe NSDecimalRound(&whole, &value, 0, value < 0 ? .up : .down)
    // The description of a decimal without a fraction consists of a sign and digits only.
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
