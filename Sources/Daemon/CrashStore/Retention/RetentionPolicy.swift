/// The rules that decide which reports the store keeps, and for how long.
///
/// Counts are kept longer than reports: each group keeps hourly counts of its removed reports.
public struct RetentionPolicy: Sendable, Equatable {
  /// The age in seconds after which a report is removed.
  public var age_s = 30 * 86_400
  /// The maximum size of the database in bytes.
  ///
  /// If the database exceeds this size, the oldest reports of the user whose reports take the most bytes are removed.
  public var bytes = 1 << 30
  /// The maximum number of reports in the store for each group and user.
  ///
  /// The newest reports (a quarter of this number) and a uniform sample of the older reports are kept.
  public var reportsPerGroup = 100
  /// The number of bytes that must stay free on the file system.
  ///
  /// If less is free, retention removes reports.
  public var keepFreeBytes = 1 << 30
  /// The minimum size of the database in bytes: if it is smaller, retention removes no reports to keep the file system
  /// free.
  public var minimumBytes = 16 << 20
  /// The time in seconds for which a group still counts a removed report.
  public var history_s = 400 * 86_400

  /// Creates the default policy.
  public init() {}
}

/// The reason why reports were removed.
public enum RetentionReason: String, Sendable, CaseIterable {
  /// The report's group had more reports than the policy permits.
  case group
  /// The report was too old.
  case age
  /// The database was too large.
  case bytes
  /// The file system was too full.
  case keepFree
  /// An operator requested the removal.
  case asked
}

/// The groups that may have more reports than the policy permits.
struct GrownGroups {
  struct Name: Hashable {
    var key: String
    var uid: Int64
  }

  /// The names of the groups that may have too many reports.
  ///
  /// If the value is nil, any group may have too many, for example after crashd started.
  var names: Set<Name>?
  /// The groups that the current pass skips, because subscribers have not read all of their reports.
  var spared: Set<Name> = []
  static let limit = 10_000
}
