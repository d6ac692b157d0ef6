internal import CrashShield
internal import CrashShieldGuards
public import Foundation

extension FixedWidthInteger {
  /// The number without its fraction; the nearest one where the type has it not, which is recorded as `conversion`.
  ///
  /// What is no number becomes 0. A fraction cut off is no fault. In place of `NSDecimalNumber.intValue`, which gives some other
  /// number without a word: there is nothing to trap with, so the value is the same in every mode.
  public init(shielded value: Decimal, fileID: StaticString = #fileID, line: UInt = #line) {
    var (value, whole) = (value, Decimal())
    // Both are whole structures, which it reads and fills in.
    unsafe NSDecimalRound(&whole, &value, 0, value < 0 ? .up : .down)
    // A whole decimal is written as digits alone.
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
