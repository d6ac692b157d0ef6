/// Estimates the share of use-after-free accesses that belong to groups without a detected access.
///
/// A *hit* is a detected use-after-free access. A *group* is the set of all accesses to objects of one class with the
/// same access kind and call site. Some groups have no hit yet. Good's method (1953) estimates the share of accesses in
/// these groups from the number of groups that have exactly one hit. The number of hits since the last new group gives
/// an upper bound of the share.
public struct GroupCoverage: Sendable, Hashable, Codable {
  /// The maximum number of groups that are counted separately.
  ///
  /// All further groups are treated as one group, which is never new.
  public static let groupLimit = 4_096

  private var counts: [String: Int] = [:]
  /// The number of all hits.
  public private(set) var hits = 0
  /// The number of groups with exactly one hit.
  public private(set) var groupsSeenOnce = 0
  /// The number of hits since the last hit whose group was new.
  public private(set) var runSinceNewGroup = 0

  /// Makes an estimator without hits.
  public init() {}

  /// The number of groups with at least one hit.
  public var groups: Int { counts.count }

  /// Good's estimate of the share of accesses in groups without hits; 1 if there are no hits.
  public var unseenShare: Double { hits > 0 ? Double(groupsSeenOnce) / Double(hits) : 1 }

  /// Adds a hit, and returns whether its group is new.
  @discardableResult
  public mutating func add(group: String) -> Bool {
    hits += 1
    guard let count = counts[group] else {
      guard counts.count < Self.groupLimit else {
        runSinceNewGroup += 1
        return false
      }
      counts[group] = 1
      groupsSeenOnce += 1
      runSinceNewGroup = 0
      return true
    }
    if count == 1 { groupsSeenOnce -= 1 }
    counts[group] = count + 1
    runSinceNewGroup += 1
    return false
  }
}
