/// A group with its crashes by build and by day.
///
/// The detail includes the crashes of all users that the caller can read.
public struct GroupDetail: Codable, Sendable, Equatable {
  /// The crashes of one build.
  public struct Build: Codable, Sendable, Equatable {
    /// The build id; empty if unknown.
    public var build: String
    /// The number of crashes of the build.
    public var count: Int
    /// The time of the first crash, as RFC 3339 in UTC.
    public var first: String
    /// The time of the last crash, as RFC 3339 in UTC.
    public var last: String
  }

  /// The crashes of a group on one day in UTC.
  public struct Day: Codable, Sendable, Equatable {
    /// The date, such as `2026-11-22`.
    public var date: String
    /// The number of crashes on this day.
    public var count: Int

    /// Creates a value from its parts.
    package init(date: String, count: Int) { (self.date, self.count) = (date, count) }
  }

  /// The group, with one element for each user whose processes crashed.
  public var groups: [ReportGroup]
  /// The builds in which the group occurred.
  ///
  /// The build that was seen last comes first.
  public var builds: [Build]
  /// The days on which the group occurred, with the latest first.
  public var days: [Day]

  /// Creates a value from its parts.
  package init(groups: [ReportGroup], builds: [Build], days: [Day]) {
    (self.groups, self.builds, self.days) = (groups, builds, days)
  }
}
