/// The number of crashes in one hour.
public struct HourCount: Codable, Sendable, Equatable {
  /// The maximum number of groups that one call can request.
  public static let groupLimit = 100
  /// The maximum number of hourly counts in one reply.
  public static let limit = 20_000

  /// The hour in UTC, such as `2026-11-22T14`.
  public var hour: String
  /// The key of the group; empty if the number includes the crashes of all groups.
  public var key: String
  /// The number of crashes, including crashes whose reports were removed.
  public var count: Int

  /// Creates a value from its parts.
  public init(hour: String, key: String, count: Int) { (self.hour, self.key, self.count) = (hour, key, count) }
}
