import Glibc

/// The evidence from a control group's OOM kill counter about one ended process.
struct MemoryShare: Sendable, Equatable {
  /// The path of the control group.
  var cgroup: String
  /// The number of OOM kills that could have killed the ended process.
  var kills: Int
  /// The number of processes that these OOM kills could have killed, including the ended process.
  ///
  /// Each of the counted processes was killed, or its exit status is not known yet.
  var candidates = 1
  /// Whether one of the OOM kills is attributed to the ended process.
  var isVictim = false
}

/// Decides which killed processes the OOM killer killed, with the OOM kill counters of their control groups.
///
/// The counter of a control group counts the OOM kills of all processes in the group. The kernel increments the counter
/// before it kills a process. Therefore, each process has a baseline: the counter's value when the process was last
/// found running. An OOM kill is considered for a process only if the kernel counted it after the baseline and before
/// the hang-up of the connection. Each OOM kill kills at most one process.
struct MemoryGroups {
  private struct Member {
    var group: String
    var baseline: Int
    /// The value of the OOM kill counter when the connection closed; nil while the connection is open.
    var atHangUp: Int?

    /// The OOM kills that could have killed the process; nil while its connection is open.
    var rangeAtHangUp: Range<Int>? { atHangUp.map { baseline..<max(baseline, $0) } }
  }

  /// A process that ended by SIGKILL.
  private struct Killed {
    var range: Range<Int>
    /// The OOM kill that is attributed to the process.
    var kill: Int?
  }

  private struct Group {
    var events: MemoryEvents
    /// The last value of the counter, and the time at which crashd first read this value.
    var count: Int
    var time_ns: UInt64
    var members: Set<UInt64> = []
    var killed: [Killed] = []
  }

  /// The time within which the victim of a counted OOM kill ends.
  ///
  /// A process that still runs after this time was not the victim.
  ///
  /// The limit is safe because the kernel kills the victim within microseconds after it increments the counter.
  static let settling_ns: UInt64 = 100_000_000
  /// The time after an increase of a group's counter during which crashd reads the counter more often than usual.
  private static let attention_ns: UInt64 = 10_000_000_000
  /// The maximum number of killed processes that are remembered for a group without running processes.
  private static let killedLimit = 64

  private let count: @Sendable (String) -> Int?
  private var members: [UInt64: Member] = [:]
  private var groups: [String: Group] = [:]

  /// - Parameter count: Reads the counter in the file of a group; returns nil if the file no longer exists.
  init(count: @escaping @Sendable (String) -> Int? = MemoryEvents.count(at:)) { self.count = count }

  /// The paths of the counter files of all control groups that have attached processes.
  var paths: [String] { Array(groups.keys) }

  /// Adds an attached process to its control group.
  /// - Returns: Whether the process is the first attached process of its group.
  mutating func join(_ number: UInt64, _ events: MemoryEvents, at now_ns: UInt64) -> Bool {
    let isFirst = groups[events.path] == nil
    var group = groups[events.path] ?? Group(events: events, count: events.oomKills, time_ns: now_ns)
    group.members.insert(number)
    if events.oomKills > group.count { (group.count, group.time_ns) = (events.oomKills, now_ns) }
    groups[events.path] = group
    members[number] = Member(group: events.path, baseline: events.oomKills)
    return isFirst
  }

  /// Reads the counter of a group.
  ///
  /// OOM kills that were counted at least `settling_ns` ago did not kill the processes that still run. Therefore, the
  /// function increases the baselines of these processes.
  /// - Parameters:
  ///   - path: The path of the group's counter file.
  ///   - now_ns: The current time.
  ///   - isWell: Whether a process has not ended and is not being killed.
  /// - Returns: Whether the baselines can increase if the counter is read again after `settling_ns`.
  mutating func look(at path: String, at now_ns: UInt64, isWell: (UInt64) -> Bool) -> Bool {
    guard var group = groups[path] else { return false }
    if now_ns >= group.time_ns + Self.settling_ns {
      for number in group.members {
        guard let member = members[number], member.atHangUp == nil, member.baseline < group.count, isWell(number) else {
          continue
        }
        members[number]?.baseline = group.count
      }
    }
    if let now = count(path), now > group.count { (group.count, group.time_ns) = (now, now_ns) }
    groups[path] = group
    forgetOldDeaths(path)
    return mayMove(path, at: now_ns)
  }

  /// Whether the baseline of a process in the group can still increase, because crashd has not found the process
  /// running since the last OOM kill.
  ///
  /// The result is false after `attention_ns`, because a victim that waits for a disk can exit much later, and crashd
  /// must not read the counter often until that exit.
  func mayMove(_ path: String, at now_ns: UInt64) -> Bool {
    guard let group = groups[path], now_ns < group.time_ns + Self.attention_ns else { return false }
    return group.members.contains { number in
      members[number].map { $0.atHangUp == nil && $0.baseline < group.count } ?? false
    }
  }

  /// Returns the path of the counter file for a process's group.
  func path(of number: UInt64) -> String? { members[number]?.group }

  func contains(_ path: String) -> Bool { groups[path] != nil }

  /// Reads the OOM kill counter when a connection is closed, because the kernel can remove the group with its last
  /// process.
  mutating func hangUp(_ number: UInt64, at now_ns: UInt64) {
    guard let member = members[number], member.atHangUp == nil, var group = groups[member.group] else { return }
    if let now = count(member.group), now > group.count { (group.count, group.time_ns) = (now, now_ns) }
    members[number]?.atHangUp = group.count
    groups[member.group] = group
  }

  /// Handles the end of a process, and attributes an OOM kill to the process if the group's counter has an increase
  /// that no other process explains.
  /// - Parameters:
  ///   - number: The number of the process's connection. The caller must have called `hangUp` for the same number.
  ///   - wasKilled: Whether the process ended by SIGKILL.
  /// - Returns: The evidence from the counter of the group; nil if the process belongs to no group.
  mutating func end(_ number: UInt64, wasKilled: Bool) -> MemoryShare? {
    guard let member = members.removeValue(forKey: number), let group = groups[member.group] else { return nil }
    defer { leave(number, member.group) }
    let range = member.rangeAtHangUp ?? member.baseline..<member.baseline
    var share = MemoryShare(cgroup: group.events.cgroup, kills: range.count)
    guard wasKilled, !range.isEmpty else { return share }
    let taken = Set(group.killed.compactMap(\.kill))
    let kill = range.first { !taken.contains($0) }
    let waiting = group.members.count { members[$0]?.rangeAtHangUp?.overlaps(range) == true }
    share.isVictim = kill != nil
    share.candidates += waiting + group.killed.count { $0.range.overlaps(range) }
    groups[member.group]?.killed.append(Killed(range: range, kill: kill))
    return share
  }

  private mutating func leave(_ number: UInt64, _ path: String) {
    groups[path]?.members.remove(number)
    if groups[path]?.members.isEmpty == true { groups[path] = nil } else { forgetOldDeaths(path) }
  }

  /// Forgets killed processes whose OOM kills cannot have killed any of the remaining processes.
  private mutating func forgetOldDeaths(_ path: String) {
    guard let group = groups[path], !group.killed.isEmpty else { return }
    let first = group.members.compactMap { members[$0]?.baseline }.min() ?? group.count
    let known = group.killed.filter { $0.range.upperBound > first }
    groups[path]?.killed = Array(known.suffix(Self.killedLimit))
  }
}
