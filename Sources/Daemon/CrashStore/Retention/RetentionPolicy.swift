/// What the store keeps, and for how long.
///
/// Counts outlive removed reports: each group counts its removed reports by the hour.
public struct RetentionPolicy: Sendable, Equatable {
  /// Seconds since the crash after which a report is removed.
  public var age_s = 30 * 86_400
  /// Bytes of the database; beyond them the oldest reports of the user with the most are evicted.
  public var bytes = 1 << 30
  /// Reports of one group and user: the newest quarter, and a uniform sample of the older ones.
  public var reportsPerGroup = 100
  /// Bytes that stay free on the file system, for others.
  public var keepFreeBytes = 1 << 30
  /// Bytes that the database may have however full the file system is.
  public var minimumBytes = 16 << 20
  /// Seconds for which removed reports are counted in their group.
  public var history_s = 400 * 86_400

  /// The policy that crashd has without a configuration.
  public init() {}
}

/// Why reports were removed.
public enum RetentionReason: String, Sendable, CaseIterable {
  /// More of their group than the policy allows.
  case group
  /// Too old.
  case age
  /// The database was too large.
  case bytes
  /// The file system was too full.
  case keepFree
  /// An operator asked for it.
  case asked
}

/// Groups that may have more reports than they may.
struct GrownGroups {
  struct Name: Hashable {
    var key: String
    var uid: Int64
  }

  /// nil: any group, such as after the start.
  var names: Set<Name>?
  /// Those of which a reader has not read all.
  var spared: Set<Name> = []
  static let limit = 10_000
}
