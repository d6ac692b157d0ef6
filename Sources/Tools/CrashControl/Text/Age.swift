import Glibc

/// Lengths of time as people write them.
public enum Age: Sendable {
  private static let units: [Character: Int] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800]

  /// Such as `45s`, `7m`, `26h`, `12d`.
  ///
  /// It is at least two of its unit, as kubectl shows ages. A time that lies ahead, by another clock, is `0s`.
  public static func text(_ seconds: Int) -> String {
    switch max(0, seconds) {
    case let few where few < 120: "\(few)s"
    case let some where some < 7_200: "\(some / 60)m"
    case let many where many < 172_800: "\(many / 3_600)h"
    default: "\(seconds / 86_400)d"
    }
  }

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
