import CrashReport
import CrashRing
import Synchronization

/// Counts the requests and the drains of attached processes, by build.
///
/// In a drain, a process finishes its requests after a trap, and then ends.
///
/// A metric must not have many combinations of labels. Therefore, each user (with the user's range of uids in
/// `/etc/subuid`) has at most `buildsPerUser` builds. Beyond this limit, one of the builds without attached processes
/// is merged into the label `other`: the build whose last process ended first. If all builds have attached processes, a
/// process of a further build is counted under `other` until it ends. The counts of `other` never decrease.
struct RequestTotals: Sendable {
  /// The labels of a sample.
  struct Key: Hashable, Sendable {
    var uid: UInt32
    var program: String
    var build: String

    init(_ facts: ProcessFacts) {
      (uid, program, build) = (facts.peer.uid, facts.identity.name, facts.buildID)
    }

    fileprivate init(otherOf account: UInt32) { (uid, program, build) = (account, "other", "other") }
  }

  /// The numbers of requests of one process, or of all processes of a build.
  struct Counts: Equatable, Sendable {
    var begun = 0
    var finished = 0
    var failed = 0
    /// The number of requests that were in flight when their process ended.
    var lost = 0
    /// The number of requests whose trap was contained; `failed` includes these requests.
    var contained = 0
    /// The number of processes that drained, by the reason for which the drain ended.
    var drains: [String: Int] = [:]

    init() {}

    /// - Parameters:
    ///   - ring: The counts in a ring, which are untrusted.
    ///   - containment: The state of containment in the ring, which is also untrusted; nil if containment was off.
    ///   - member: The process, with its counts at the attach; nil means that these counts are zero.
    ///   - hasEnded: Whether the process has ended.
    init(
      _ ring: RingContents.RequestCounts, _ containment: RingContents.Containment?, since member: Member? = nil,
      hasEnded: Bool
    ) {
      let before = member?.before ?? RingContents.RequestCounts()
      let clamp = { (count: UInt64) in Int(clamping: min(count, Self.limit)) }
      begun = clamp(ring.begun.subtractingOrZero(before.begun))
      finished = clamp(ring.finished.subtractingOrZero(before.finished))
      failed = clamp(ring.failed.subtractingOrZero(before.failed))
      lost = hasEnded ? clamp(ring.unended) : 0
      let containedNow = UInt64(containment?.contained ?? 0)
      contained = clamp(containedNow.subtractingOrZero(UInt64(member?.containedBefore ?? 0)))
      if hasEnded, let drain = containment?.drain { drains[Self.word(drain.end)] = 1 }
    }

    /// Returns the label for the end of a drain.
    ///
    /// The label is one of a few fixed words, because a process can write any number into its ring.
    private static func word(_ end: CrashReport.Containment.End?) -> String {
      let end = end ?? .interrupted
      return CrashReport.Containment.End.known.contains(end) ? end.rawValue : "other"
    }

    /// The maximum of each count that is accepted from one process.
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

  /// An attached process whose requests are counted.
  struct Member: Sendable {
    /// The account of the process's user; see `UserAccounts`.
    let account: UInt32
    /// The key under which the process is counted until it ends.
    let key: Key
    /// The counts in the ring when crashd attached the process.
    let before: RingContents.RequestCounts
    /// The number of contained traps when crashd attached the process.
    let containedBefore: UInt32
  }

  private struct Build: Sendable {
    let key: Key
    /// The numbers of requests of ended processes.
    var counts = Counts()
    /// The number of attached processes.
    var attached = 0
  }

  /// The maximum number of builds of one user.
  static let buildsPerUser = 64
  /// The maximum number of users whose builds are counted.
  ///
  /// The processes of further users are not counted.
  static let users = 256

  /// The builds of each account.
  ///
  /// When a process ends, its build moves to the end of the account's list. The list is therefore sorted by the time at
  /// which each build's last process ended, oldest first. The label `other` is one of the builds.
  private var builds: [UInt32: [Build]] = [:]

  /// Begins to count the requests of a process.
  ///
  /// - Returns: The counted process, for the call of `end`; nil if there are too many users, so that the process is not
  ///   counted.
  mutating func attach(
    _ key: Key, of account: UInt32, before: RingContents.RequestCounts, containedBefore: UInt32 = 0
  ) -> Member? {
    guard builds[account] != nil || builds.count < Self.users else { return nil }
    let key = makeRoom(for: key, of: account)
    change(key, of: account) { $0.attached += 1 }
    return Member(account: account, key: key, before: before, containedBefore: containedBefore)
  }

  /// Ends counting the requests of a process, and adds its final counts.
  mutating func end(_ member: Member, _ counts: Counts) {
    change(member.key, of: member.account) { build in
      build.attached -= 1
      build.counts = build.counts + counts
    }
    guard let list = builds[member.account], let index = list.firstIndex(where: { $0.key == member.key }) else {
      return
    }
    let build = list[index]
    builds[member.account]?.remove(at: index)
    if build.attached > 0 || build.counts != Counts() { builds[member.account]?.append(build) }
    if builds[member.account]?.isEmpty == true { builds[member.account] = nil }
  }

  /// Returns the sums of the counts of ended and attached processes, sorted by key.
  ///
  /// `attached` has the counts of each attached process, under the key of its `Member`.
  func sums(with attached: [(key: Key, counts: Counts)]) -> [(key: Key, counts: Counts)] {
    var sums: [Key: Counts] = [:]
    let ended = builds.values.joined().map { ($0.key, $0.counts) }
    for (key, counts) in ended + attached where counts != Counts() { sums[key] = (sums[key] ?? Counts()) + counts }
    return sums.sorted { ($0.key.uid, $0.key.program, $0.key.build) < ($1.key.uid, $1.key.program, $1.key.build) }
      .map { ($0.key, $0.value) }
  }

  /// Returns the key under which a new process is counted.
  ///
  /// If the user has too many builds, a build without attached processes is merged into `other`.
  private mutating func makeRoom(for key: Key, of account: UInt32) -> Key {
    let (other, list) = (Key(otherOf: account), builds[account] ?? [])
    let isKnown = list.contains { $0.key == key }
    guard !isKnown, list.count(where: { $0.key != other }) >= Self.buildsPerUser else { return key }
    guard let oldest = list.firstIndex(where: { $0.attached == 0 && $0.key != other }) else { return other }
    builds[account]?.remove(at: oldest)
    change(other, of: account) { $0.counts = $0.counts + list[oldest].counts }
    return key
  }

  /// Changes the entry of a key; adds the entry first if it is missing.
  private mutating func change(_ key: Key, of account: UInt32, _ body: (inout Build) -> Void) {
    var list = builds[account] ?? []
    let index = list.firstIndex { $0.key == key } ?? list.count
    if index == list.count { list.append(Build(key: key)) }
    body(&list[index])
    builds[account] = list
  }
}
