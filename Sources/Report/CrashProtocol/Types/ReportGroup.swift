/// A group of crashes with one cause.
public struct ReportGroup: Codable, Sendable, Equatable {
  /// Hexadecimal digits.
  public var key: String
  /// The user of the processes.
  public var uid: Int
  /// The title for people.
  public var title: String
  /// The number of crashes, with those whose report was removed since.
  public var count: Int
  /// When it was first seen, RFC 3339 in UTC.
  public var first: String
  /// When it was last seen.
  public var last: String
  /// The number of builds.
  public var builds: Int
  /// The build id of the first crash.
  public var firstBuild: String
  /// The build id of the last crash.
  public var lastBuild: String
  /// The programs, eight at most.
  public var names: [String]
  /// `new`, `open`, `resolved` or `regressed`.
  public var state: String
  /// The newest report's id; empty when all of them were removed.
  public var report: String
  /// The release of the first crash; nil where its report was removed, or names none.
  public var firstRelease: String?
  /// The release of the last crash.
  public var lastRelease: String?

  /// Makes one from its parts.
  package init(
    key: String, uid: Int, title: String, count: Int, first: String, last: String, builds: Int, firstBuild: String,
    lastBuild: String, names: [String], state: String, report: String, firstRelease: String? = nil,
    lastRelease: String? = nil
  ) {
    (self.key, self.uid, self.title, self.count, self.first) = (key, uid, title, count, first)
    (self.last, self.builds, self.firstBuild, self.lastBuild, self.names) = (last, builds, firstBuild, lastBuild, names)
    (self.state, self.report) = (state, report)
    (self.firstRelease, self.lastRelease) = (firstRelease, lastRelease)
  }
}
