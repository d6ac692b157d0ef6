import Synchronization
import Testing

@testable import CrashDaemon

/// The OOM kill counters of simulated control groups, which a test sets.
private final class Counters: Sendable {
  private let counts = Mutex<[String: Int]>([:])

  subscript(path: String) -> Int? {
    get { counts.withLock { $0[path] } }
    set { counts.withLock { $0[path] = newValue } }
  }
}

@Suite("Out-of-memory kills by control group")
struct MemoryGroupsTests {
  private let counters = Counters()
  private let path = "/sys/fs/cgroup/app/memory.events.local"
  private let late = 3 * MemoryGroups.settling_ns

  private func groups() -> MemoryGroups { MemoryGroups { [counters] in counters[$0] } }

  private func join(_ numbers: UInt64..., to groups: inout MemoryGroups) throws {
    for number in numbers {
      let text = "oom_kill \(counters[path] ?? 0)"
      let events = try #require(MemoryEvents.of(cgroups: "0::/app\n") { $0 == path ? text : nil })
      _ = groups.join(number, events, at: 0)
    }
  }

  /// Reads the group's counter of OOM kills, while the processes in `well` are known to run.
  ///
  /// These processes are not the victims of the kills that were counted long enough before. Returns whether another
  /// reading of the counter is allowed to increase the baselines of these processes.
  private func look(_ groups: inout MemoryGroups, at time_ns: UInt64, well: Set<UInt64>) -> Bool {
    groups.look(at: path, at: time_ns) { well.contains($0) }
  }

  private func kill(_ number: UInt64, in groups: inout MemoryGroups, at time_ns: UInt64 = 0) throws -> MemoryShare {
    groups.hangUp(number, at: time_ns)
    let share = groups.end(number, wasKilled: true)
    return try #require(share)
  }

  @Test("a killed process is the OOM victim if its group's counter increased by one")
  func one() throws {
    var groups = groups()
    counters[path] = 7
    try join(1, to: &groups)
    counters[path] = 8
    let killed1 = try kill(1, in: &groups)
    #expect(killed1 == MemoryShare(cgroup: "/app", kills: 1, isVictim: true))
    #expect(groups.paths.isEmpty)
  }

  @Test("a process killed by hand after an OOM kill of another one is reported as a kill with an uncertain cause")
  func neighbour() throws {
    var groups = groups()
    try join(1, 2, to: &groups)
    counters[path] = 1
    let killed1 = try kill(1, in: &groups)
    #expect(killed1.isVictim)
    let killed2 = try kill(2, in: &groups)
    #expect(killed2 == MemoryShare(cgroup: "/app", kills: 1, candidates: 2))
  }

  @Test("a process that was still running after the OOM counter increased was not the victim")
  func seenWell() throws {
    var groups = groups()
    try join(1, to: &groups)
    counters[path] = 1
    let look1 = look(&groups, at: late, well: [1, 2])
    #expect(look1)
    // A reading right after the increase excludes no process, because the kernel can increase the counter before it
    // kills its victim.
    let look2 = look(&groups, at: late + 1, well: [1, 2])
    #expect(look2)
    let look3 = look(&groups, at: 2 * late, well: [1, 2])
    #expect(!look3)
    let killed1 = try kill(1, in: &groups)
    #expect(killed1 == MemoryShare(cgroup: "/app", kills: 0))
  }

  @Test("a process that is being killed during a reading of the counter is not excluded as the OOM victim")
  func notWell() throws {
    var groups = groups()
    try join(1, 2, to: &groups)
    counters[path] = 1
    let look4 = look(&groups, at: late, well: [1, 2])
    #expect(look4)
    let look5 = look(&groups, at: 2 * late, well: [2])
    #expect(look5)
    let killed2 = try kill(2, in: &groups)
    #expect(killed2.kills == 0)
    let killed1 = try kill(1, in: &groups)
    #expect(killed1 == MemoryShare(cgroup: "/app", kills: 1, isVictim: true))
  }

  @Test("a reading right after an increase of the counter excludes no process as the victim")
  func tooEarly() throws {
    var groups = groups()
    try join(1, to: &groups)
    counters[path] = 1
    let look6 = look(&groups, at: late, well: [1, 2])
    #expect(look6)
    let look7 = look(&groups, at: late + MemoryGroups.settling_ns - 1, well: [1, 2])
    #expect(look7)
    let killed1 = try kill(1, in: &groups)
    #expect(killed1.isVictim)
  }

  @Test("of three processes killed at once, the number of OOM victims is the increase of the counter")
  func several() throws {
    var groups = groups()
    try join(1, 2, 3, to: &groups)
    counters[path] = 2
    for number: UInt64 in 1...3 { groups.hangUp(number, at: 0) }
    let shares = (1...3).compactMap { groups.end($0, wasKilled: true) }
    #expect(shares.map(\.isVictim) == [true, true, false])
    #expect(shares.allSatisfy { $0.candidates == 3 && $0.kills == 2 })
  }

  @Test("a process that ends for another reason does not use up a counted kill")
  func otherwise() throws {
    var groups = groups()
    try join(1, 2, to: &groups)
    counters[path] = 1
    groups.hangUp(1, at: 0)
    let share = groups.end(1, wasKilled: false)
    #expect(share?.isVictim == false)
    let killed2 = try kill(2, in: &groups)
    #expect(killed2 == MemoryShare(cgroup: "/app", kills: 1, isVictim: true))
  }

  @Test("kills counted before a process attached, or after it detached, are not counted for it")
  func outside() throws {
    var groups = groups()
    counters[path] = 5
    try join(1, 2, to: &groups)
    groups.hangUp(1, at: 0)
    counters[path] = 6
    let share = groups.end(1, wasKilled: true)
    #expect(share == MemoryShare(cgroup: "/app", kills: 0))
    let killed2 = try kill(2, in: &groups)
    #expect(killed2.isVictim)
  }

  @Test("the last count of a removed group still applies to its last process; unknown processes are no OOM victims")
  func gone() throws {
    var groups = groups()
    try join(1, to: &groups)
    counters[path] = 1
    _ = look(&groups, at: 0, well: [])
    counters[path] = nil
    let killed1 = try kill(1, in: &groups)
    #expect(killed1.isVictim)
    let unknown = groups.end(1, wasKilled: true)
    #expect(unknown == nil)
    let mayMove = look(&groups, at: late, well: [1])
    #expect(!mayMove)
  }

  @Test("an OOM counter that jumps or decreases causes no trap and no wrong victim")
  func hostile() throws {
    var groups = groups()
    try join(1, 2, 3, to: &groups)
    counters[path] = Int.max
    let killed1 = try kill(1, in: &groups)
    #expect(killed1.kills == Int.max)
    counters[path] = 0
    let killed2 = try kill(2, in: &groups)
    #expect(killed2.isVictim)
    counters[path] = Int.min
    let killed3 = try kill(3, in: &groups)
    #expect(killed3.isVictim)
  }

  @Test(
    "the OOM counter is read from the process's own control group",
    arguments: [
      ("0::/app\n", "/sys/fs/cgroup/app/memory.events.local", "low 0\noom 2\noom_kill 2\n", "/app"),
      ("0::/\n", "/sys/fs/cgroup/memory.events", "oom_kill 2", "/"),
      (
        "9:name=systemd:/x\n4:cpu,memory:/app\n0::/\n", "/sys/fs/cgroup/memory/app/memory.oom_control",
        "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n", "/app"
      ),
    ])
  func memoryEvents(cgroups: String, path: String, text: String, group: String) throws {
    let events = try #require(MemoryEvents.of(cgroups: cgroups) { $0 == path ? text : nil })
    #expect(events.cgroup == group)
    #expect(events.oomKills == 2)
    #expect(events.tellsOfChanges == !path.hasSuffix("oom_control"))
    // The group of this test does not exist on the machine, so its counter cannot be read. Only the root group exists.
    #expect(group == "/" || MemoryEvents.count(at: events.path) == nil)
  }

  @Test(
    "no OOM counter is read from a wrong path or a malformed file",
    arguments: [("0::/../x\n", "oom_kill 1"), ("1:cpu:/x\n", "oom_kill 1"), ("0::/x\n", "oom_kill -1"), ("", "")])
  func noMemoryEvents(cgroups: String, text: String) {
    #expect(MemoryEvents.of(cgroups: cgroups) { _ in text } == nil)
  }
}
