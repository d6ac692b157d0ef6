/// The rules for which reports the store keeps, and for how long.
///
/// Counts are kept longer than reports: each group keeps hourly counts of its removed reports.
public struct RetentionPolicy: Sendable, Equatable {
  /// The age in seconds after which a report is removed.
  public var age_s = 30 * 86_400
  /// The maximum size of the database in bytes.
  ///
  /// If it is exceeded, the oldest reports of the user whose reports take the most bytes are evicted.
  public var bytes = 1 << 30
  /// The maximum number of reports for each group and user.
  ///
  /// The newest quarter is kept, and a uniform sample of older reports.
  public var reportsPerGroup = 100
  /// The number of bytes that retention keeps free on the file system.
  public var keepFreeBytes = 1 << 30
  /// The size in bytes that the database may always have, even if the file system is full.
  public var minimumBytes = 16 << 20
  /// How long a group counts its removed reports, in seconds.
  public var history_s = 400 * 86_400

  /// Creates the default policy.
  public init() {}
}

/// The reason why reports were removed.
public enum RetentionReason: String, Sendable, CaseIterable {
  /// The group had more reports than the policy allows.
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

/// The groups that may have more reports than allowed.
struct GrownGroups {
  struct Name: Hashable {
    var key: String
    var uid: Int64
  }

  /// The names of these groups.
  ///
  /// If it is nil, any group may have too many reports, for example after the start of crashd.
  var names: Set<Name>?
  /// The groups that this pass skips, because readers have not read all of their reports.
  var spared: Set<Name> = []
  static let limit = 10_000
}
