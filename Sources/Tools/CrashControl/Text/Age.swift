import Glibc

/// Lengths of time as people write them.
public enum Age: Sendable {
  private static let units: [Character: Int] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800]

  /// The seconds of such as `90s`, `12h`, `7d`, `4w`; nil for anything else.
  public static func seconds(_ text: String) -> Int? {
    guard let unit = text.last, let factor = units[unit], let count = Int(text.dropLast()), count >= 0 else {
      return nil
    }
    let (seconds, isTooLong) = count.multipliedReportingOverflow(by: factor)
    return isTooLong ? nil : seconds
  }

  /// The time so long before now, in seconds since 1970; nil for what is no age.
  public static func seconds(before text: String) -> Int? {
    guard let age = seconds(text) else { return nil }
    return max(0, Int(time(nil)) - age)
  }
}
