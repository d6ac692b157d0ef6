/// Estimates how much of the use-after-free accesses belongs to groups not seen yet.
///
/// A group is a class and a call site. The share of accesses in unseen groups is estimated by the share of groups seen
/// once (Good, 1953), and bounded by the run of hits since the last new group.
public struct GroupCoverage: Sendable, Hashable, Codable {
  /// Groups beyond this number count as one, which never looks new.
  public static let groupLimit = 4_096

  private var counts: [String: Int] = [:]
  /// Hits in all.
  public private(set) var hits = 0
  /// Groups of which one hit was seen.
  public private(set) var groupsSeenOnce = 0
  /// Hits since the last one of a new group.
  public private(set) var runSinceNewGroup = 0

  /// Nothing seen yet.
  public init() {}

  /// Groups seen.
  public var groups: Int { counts.count }

  /// Good's estimate of the unseen groups' share of accesses; 1 before the first hit.
  public var unseenShare: Double { hits > 0 ? Double(groupsSeenOnce) / Double(hits) : 1 }

  /// Adds a hit, and says whether its group is new.
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
