/// Formats and parses durations, such as `250ms`.
public enum DurationText: Sendable {
  private static let limit_s = 365 * 86_400

  /// Parses a number with the unit `ms`, `s`, `m`, `h`, `d` or `w`.
  ///
  /// Returns nil for any other string, and for more than a year.
  public static func parse(_ text: String) -> Duration? {
    if text.hasSuffix("ms") {
      guard let count = Int(text.dropLast(2)), (0...limit_s * 1_000).contains(count) else { return nil }
      return .milliseconds(count)
    }
    guard let seconds = Age.seconds(text), seconds <= limit_s else { return nil }
    return .seconds(seconds)
  }

  /// Formats a duration, such as `250 ms` or `12 s`.
  ///
  /// From two minutes on, the format is the format of ages, such as `7m`.
  public static func text(_ duration: Duration) -> String {
    let milliseconds = Int(duration / .milliseconds(1))
    if milliseconds < 10_000 { return "\(milliseconds) ms" }
    return milliseconds < 120_000 ? "\(milliseconds / 1_000) s" : Age.text(milliseconds / 1_000)
  }
}
