import CrashReport

/// The reason why settings cannot be used: a place, and one sentence.
public struct SettingsError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The place of the error, such as `crashd.yaml:12`, `CRASHD_RETENTION_AGE` or `--set`.
  public var place: String
  /// The reason of the error.
  public var reason: String

  /// Creates an error.
  public init(place: String, reason: String) { (self.place, self.reason) = (place, reason) }

  /// The place and the reason, in one line.
  public var description: String { CleanText.line("\(place): \(reason)") }
}
