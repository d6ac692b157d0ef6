import Glibc

/// Formats and parses ages, such as `7m`.
public enum Age: Sendable {
  private static let units: [Character: Int] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800]

  /// Formats an age, such as `45s`, `7m`, `26h` or `12d`.
  ///
  /// As in kubectl, the number is at least two, except for seconds: an age below two minutes is in seconds. A time in
  /// the future, which can come from a machine with another clock, has the age `0s`.
  public static func text(_ seconds: Int) -> String {
    switch max(0, seconds) {
    case let few where few < 120: "\(few)s"
    case let some where some < 7_200: "\(some / 60)m"
    case let many where many < 172_800: "\(many / 3_600)h"
    default: "\(seconds / 86_400)d"
    }
  }

  /// Parses an age such as `90s`, `12h`, `7d` or `4w`, and returns its seconds.
  ///
  /// Returns nil for any other string.
  public static func seconds(_ text: String) -> Int? {
    guard let unit = text.last, let factor = units[unit], let count = Int(text.dropLast()), count >= 0 else {
      return nil
    }
    let (seconds, isTooLong) = count.multipliedReportingOverflow(by: factor)
    return isTooLong ? nil : seconds
  }

  /// Parses an age, and returns the current time minus this age, in seconds since 1970.
  ///
  /// Returns nil for any other string.
  public static func seconds(before text: String) -> Int? {
    guard let age = seconds(text) else { return nil }
    return max(0, Int(time(nil)) - age)
  }
}
