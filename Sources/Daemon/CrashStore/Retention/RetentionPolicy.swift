/// The rules of what the store keeps, and for how long.
///
/// Counts are kept longer than reports: each group counts its removed reports by the hour.
public struct RetentionPolicy: Sendable, Equatable {
  /// The age in seconds after which a report is removed.
  public var age_s = 30 * 86_400
  /// The maximum size of the database in bytes.
  ///
  /// Beyond it, the oldest reports of the user with the most bytes are evicted.
  public var bytes = 1 << 30
  /// The maximum number of reports per group and user: the newest quarter, and a uniform sample of older reports.
  public var reportsPerGroup = 100
  /// The number of bytes that must stay free on the file system.
  public var keepFreeBytes = 1 << 30
  /// The size in bytes that the database may have even if the file system is full.
  public var minimumBytes = 16 << 20
  /// The time in seconds for which removed reports are counted in their group.
  public var history_s = 400 * 86_400

  /// Creates the policy that crashd uses without settings.
  public init() {}
}

/// Why reports were removed.
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

/// The groups that may exceed their limit of reports.
struct GrownGroups {
  struct Name: Hashable {
    var key: String
    var uid: Int64
  }

  /// The names of these groups.
  ///
  /// Nil means that any group may be too large, for example after the start.
  var names: Set<Name>?
  /// Groups that were spared because a reader has not read all of their reports.
  var spared: Set<Name> = []
  static let limit = 10_000
}
