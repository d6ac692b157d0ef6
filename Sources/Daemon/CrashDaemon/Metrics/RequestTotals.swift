import CrashReport
import CrashRing
import Synchronization

/// Counts the requests and drains of processes that have ended, by build.
///
/// A metric must have few labels. Beyond the limits, the build whose processes ended first is merged into the label
/// `other`. The counts of `other` never decrease.
struct RequestTotals: Sendable {
  /// The labels of a sample.
  struct Key: Hashable, Sendable {
    var uid: UInt32
    var program: String
    var build: String

    init(_ facts: ProcessFacts) {
      (uid, program, build) = (facts.peer.uid, facts.identity.name, facts.buildID)
    }

    fileprivate init(otherOf uid: UInt32) { (self.uid, program, build) = (uid, "other", "other") }

    fileprivate var isOther: Bool { self == Key(otherOf: uid) }
  }

  /// The numbers of requests.
  struct Counts: Equatable, Sendable {
    var begun = 0
    var finished = 0
    var failed = 0
    /// The requests that had not ended when their process ended.
    var lost = 0
    /// The requests whose trap was contained; these are also in `failed`.
    var contained = 0
    /// The processes that drained, by the end of their drain.
    var drains: [String: Int] = [:]

    init() {}

    /// - Parameters:
    ///   - ring: The counts in a ring, which are untrusted.
    ///   - containment: What containment did in the process, which is untrusted too; nil if it was off.
    ///   - hasEnded: Whether the process has ended.
    init(_ ring: RingContents.RequestCounts, _ containment: RingContents.Containment?, hasEnded: Bool) {
      let clamp = { (count: UInt64) in Int(clamping: min(count, Self.limit)) }
      (begun, finished, failed) = (clamp(ring.begun), clamp(ring.finished), clamp(ring.failed))
      lost = hasEnded ? clamp(ring.unended) : 0
      contained = containment.map { Int($0.contained) } ?? 0
      if hasEnded, let drain = containment?.drain { drains[Self.word(drain.end)] = 1 }
    }

    /// Returns the label of a drain's end, which is one of a few words, because a process can write any number.
    private static func word(_ end: CrashReport.Containment.End?) -> String {
      guard let end else { return "interrupted" }
      return CrashReport.Containment.End.known.contains(end) ? end.rawValue : "other"
    }

    /// The maximum of each count of a process.
    ///
    /// A process can write any number into its ring. The limit prevents an overflow of the sum of 4,096 processes.
    private static let limit: UInt64 = 1 << 40

    static func + (left: Counts, right: Counts) -> Counts {
      var sum = Counts()
      sum.begun = add(left.begun, right.begun)
      sum.finished = add(left.finished, right.finished)
      sum.failed = add(left.failed, right.failed)
      sum.lost = add(left.lost, right.lost)
      sum.contained = add(left.contained, right.contained)
      sum.drains = left.drains.merging(right.drains, uniquingKeysWith: add)
      return sum
    }

    private static func add(_ left: Int, _ right: Int) -> Int {
      let (sum, overflow) = left.addingReportingOverflow(right)
      return overflow ? .max : sum
    }
  }

  /// The maximum number of builds of one user.
  static let buildsPerUser = 64
  /// The maximum number of users whose builds are counted.
  ///
  /// The processes of further users are not counted.
  static let users = 256

  /// The builds of each user, by the order of the last end of a process.
  private var ended: [UInt32: [(key: Key, counts: Counts)]] = [:]

  /// Adds the last counts of a process that has ended.
  mutating func add(_ counts: Counts, of key: Key) {
    guard counts != Counts(), ended[key.uid] != nil || ended.count < Self.users else { return }
    var builds = ended[key.uid] ?? []
    let before = builds.firstIndex { $0.key == key }.map { builds.remove(at: $0).counts } ?? Counts()
    builds.append((key, before + counts))
    if builds.count > Self.buildsPerUser, let oldest = builds.firstIndex(where: { !$0.key.isOther }) {
      let moved = builds.remove(at: oldest).counts
      let other = Key(otherOf: key.uid)
      if let index = builds.firstIndex(where: { $0.key == other }) {
        builds[index].counts = builds[index].counts + moved
      } else {
        builds.append((other, moved))
      }
    }
    ended[key.uid] = builds
  }

  /// Returns the sums of ended and attached processes, sorted by key.
  func sums(with attached: [(key: Key, counts: Counts)]) -> [(key: Key, counts: Counts)] {
    var sums: [Key: Counts] = [:]
    for (key, counts) in ended.values.joined() { sums[key] = counts }
    for (key, counts) in attached where counts != Counts() { sums[key] = (sums[key] ?? Counts()) + counts }
    return sums.sorted { ($0.key.uid, $0.key.program, $0.key.build) < ($1.key.uid, $1.key.program, $1.key.build) }
      .map { ($0.key, $0.value) }
  }
}
