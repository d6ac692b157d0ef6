/// A group with its crashes by build and by day, of all users that the caller sees.
public struct GroupDetail: Codable, Sendable, Equatable {
  /// The crashes of one build.
  public struct Build: Codable, Sendable, Equatable {
    /// The build id; empty where it is unknown.
    public var build: String
    /// The number of crashes.
    public var count: Int
    /// The first crash, RFC 3339 in UTC.
    public var first: String
    /// The last crash.
    public var last: String
  }

  /// The crashes of one day, UTC.
  public struct Day: Codable, Sendable, Equatable {
    /// Such as `2026-11-22`.
    public var date: String
    /// The number of crashes.
    public var count: Int

    /// Makes one from its parts.
    package init(date: String, count: Int) { (self.date, self.count) = (date, count) }
  }

  /// The group, once for each user.
  public var groups: [ReportGroup]
  /// Its builds, the one seen last first.
  public var builds: [Build]
  /// Its days with crashes, the latest first.
  public var days: [Day]

  /// Makes one from its parts.
  package init(groups: [ReportGroup], builds: [Build], days: [Day]) {
    (self.groups, self.builds, self.days) = (groups, builds, days)
  }
}
