/// A group of crashes with the same cause.
public struct ReportGroup: Codable, Sendable, Equatable {
  /// The key of the group, in hexadecimal digits.
  public var key: String
  /// The user ID of the processes.
  public var uid: Int
  /// The readable title of the group.
  public var title: String
  /// The number of crashes, including crashes whose reports were removed.
  public var count: Int
  /// The time of the first crash, as RFC 3339 in UTC.
  public var first: String
  /// The time of the last crash, as RFC 3339 in UTC.
  public var last: String
  /// The number of builds in which the group occurred.
  public var builds: Int
  /// The build id of the first crash.
  public var firstBuild: String
  /// The build id of the last crash.
  public var lastBuild: String
  /// The names of the programs; at most eight.
  public var names: [String]
  /// The state of the group: `new`, `open`, `resolved` or `regressed`.
  public var state: String
  /// The id of the newest report; empty if all reports of the group were removed.
  public var report: String
  /// The release of the first crash.
  ///
  /// The value is nil if the report of this crash was removed or has no release.
  public var firstRelease: String?
  /// The release of the last crash.
  ///
  /// The value is nil if the report of this crash was removed or has no release.
  public var lastRelease: String?
  /// The diagnosis of the newest report as a sentence.
  ///
  /// The value is nil if no report remains, and in replies of a crashd version without this property.
  public var sentence: String?

  /// Creates a group from its parts.
  package init(
    key: String, uid: Int, title: String, count: Int, first: String, last: String, builds: Int, firstBuild: String,
    lastBuild: String, names: [String], state: String, report: String, firstRelease: String? = nil,
    lastRelease: String? = nil, sentence: String? = nil
  ) {
    (self.key, self.uid, self.title, self.count, self.first) = (key, uid, title, count, first)
    (self.last, self.builds, self.firstBuild, self.lastBuild, self.names) = (last, builds, firstBuild, lastBuild, names)
    (self.state, self.report) = (state, report)
    (self.firstRelease, self.lastRelease, self.sentence) = (firstRelease, lastRelease, sentence)
  }
}
