import CrashReport

/// The most recent crashes that a sink sent, which the sink uses to skip duplicates.
///
/// crashd sends a report again when it has more details, or after a lost acknowledgement.
struct RecentEvents {
  /// The identity of a crash, including its group.
  ///
  /// Because this identity includes the group, a report that moved to another group is sent again.
  struct Key: Hashable {
    var id: String
    var group: String

    init(_ report: CrashReport) { (id, group) = (report.id, report.group.key) }
  }

  private let limit: Int
  private var known: Set<Key> = []
  private var order: [Key] = []
  private var oldest = 0

  init(limit: Int) { self.limit = limit }

  func contains(_ key: Key) -> Bool { known.contains(key) }

  mutating func insert(_ key: Key) {
    guard known.insert(key).inserted else { return }
    if order.count < limit { return order.append(key) }
    known.remove(order[oldest])
    order[oldest] = key
    oldest = (oldest + 1) % limit
  }
}
