import CrashReport

/// The reason why settings cannot be used: the source of the invalid setting, and one sentence.
public struct SettingsError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The source of the invalid setting, such as `crashd.yaml:12`, `CRASHD_RETENTION_AGE` or `--set`.
  public var place: String
  /// The reason of the error.
  public var reason: String

  /// Creates an error.
  public init(place: String, reason: String) { (self.place, self.reason) = (place, reason) }

  /// The place and the reason, in one line.
  public var description: String { CleanText.line("\(place): \(reason)") }
}
