import CrashReport

/// Why settings cannot be used: one sentence, with the place.
public struct SettingsError: Error, Sendable, Equatable, CustomStringConvertible {
  /// Such as `crashd.yaml:12`, `CRASHD_RETENTION_AGE` or `--set`.
  public var place: String
  /// What is wrong there.
  public var reason: String

  /// An error at a place.
  public init(place: String, reason: String) { (self.place, self.reason) = (place, reason) }

  /// Place and reason, in one line.
  public var description: String { CleanText.line("\(place): \(reason)") }
}
