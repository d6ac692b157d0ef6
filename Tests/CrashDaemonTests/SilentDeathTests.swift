import CCrashDaemon
import CrashReport
import CrashRing
import Glibc
import Testing

@testable import CrashDaemon

@Suite
struct SilentDeathTests {
  private func death(_ end: ProcessEnd, oomKills: Int? = nil, losses: [String: Int] = [:]) throws -> SilentDeath? {
    let ring = try RingSource(memory: TestRing().memory())
    let facts = ProcessFacts(ring.mapping.contents(), peer: Peer(pid: 4711, uid: 1000), unit: nil)
    let process = AttachedProcess(number: 4, facts: facts, ring: ring)
    return SilentDeath(EndedProcess(process: process, end: end, oomKills: oomKills), losses: losses)
  }

  @Test("whoever goes on, exits by himself or is stopped has not died")
  func noDeath() throws {
    for end in [ProcessEnd.goesOn, .status(0), .status(1 << 8), .status(SIGTERM), .status(SIGINT), .status(SIGHUP)] {
      #expect(try death(end, oomKills: 3, losses: ["torn": 1]) == nil, "\(end)")
    }
  }

  @Test(
    "each way to die has its cause",
    arguments: [
      (SIGKILL, 0, 0, "killed"), (SIGKILL, 1, 0, "out-of-memory"), (SIGKILL, 0, 1, "killed"),
      (SIGSEGV, 0, 0, "handler-did-not-run"), (SIGSEGV, 1, 0, "handler-did-not-run"), (SIGSEGV, 0, 1, "torn-record"),
      (SIGPIPE, 0, 0, "unhandled-signal"), (SIGABRT | 0x80, 0, 0, "handler-did-not-run"),
    ] as [(Int32, Int, Int, String)])
  func cause(status: Int32, oomKills: Int, torn: Int, cause: String) throws {
    let death = try #require(try death(.status(status), oomKills: oomKills, losses: ["torn": torn]))
    #expect(death.diagnosis.cause == cause)
    #expect(death.death.signal == Int(status & 0x7f))
    #expect(death.death.dumpedCore == (status & 0x80 != 0))
  }

  @Test("an end that the kernel does not tell is a death only where something tells that it was bad")
  func unknown() throws {
    #expect(try death(.unknown) == nil)
    #expect(try death(.unknown, oomKills: 0) == nil)
    for (kills, losses) in [(1, [:]), (nil, ["torn": 1])] as [(Int?, [String: Int])] {
      let death = try #require(try death(.unknown, oomKills: kills, losses: losses))
      #expect(death.diagnosis.cause == "unknown")
      #expect(death.title == "Ended without a trace")
      #expect(death.death.signal == nil)
    }
  }

  @Test("the kernel tells how a child ended once it was waited for, /proc tells it to root and to its user before")
  func endOfChild() async throws {
    var child: pid_t = 0
    // The array ends with nil and is freed after the call.
    let words = ["sh", "-c", "exit 7"]
    var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
    defer { unsafe arguments.forEach { unsafe free($0) } }
    #expect(unsafe posix_spawn(&child, "/bin/sh", nil, nil, &arguments, nil) == 0)
    let pid = child
    var number: Int32 = -1
    try SystemError.check(unsafe cd_process_open(pid, &number), "open a child")
    let pidfd = Descriptor(owning: number)
    let peer = Peer(pid: pid, uid: geteuid())
    try await onThread {
      var information = unsafe siginfo_t()
      // Waits, and leaves the zombie.
      guard unsafe waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) == 0 else { throw SystemError("waitid") }
    }
    #expect(ProcessEnd.of(pidfd: pidfd, peer: peer) == .status(7 << 8))
    #expect(waitpid(pid, nil, 0) == pid)
    let end = ProcessEnd.of(pidfd: pidfd, peer: peer)
    #expect(end == .status(7 << 8) || end == .unknown)
  }

  @Test("a process that runs has no end")
  func alive() throws {
    var number: Int32 = -1
    try SystemError.check(unsafe cd_process_open(getpid(), &number), "open this process")
    #expect(ProcessEnd.of(pidfd: Descriptor(owning: number), peer: Peer(pid: getpid(), uid: geteuid())) == nil)
    let stat = try #require(ProcessStat.read(pid: getpid()))
    #expect(!stat.isExiting)
  }

  @Test("/proc/PID/stat is read behind the last parenthesis of the name")
  func stat() {
    let rest = " Z 1 2 3 0 -1 4194308" + String(repeating: " 0", count: 42) + " 9\n"
    let stat = ProcessStat(state: "Z", flags: 4_194_308, exitStatus: 9)
    #expect(ProcessStat.parse("17 (a) S 1 (b)" + rest) == stat)
    #expect(stat.isExiting)
    for text in ["", "17 (a", "17 (a) Z 1", "17 (a) Z 1 2 3 0 -1 flags" + String(repeating: " 0", count: 44)] {
      #expect(ProcessStat.parse(text) == nil, "'\(text)'")
    }
  }

  @Test(
    "the counter of the process's own control group is taken",
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
    // The file is not there any more.
    #expect(group == "/" || events.increase() == nil)
  }

  @Test(
    "no counter is taken from a wrong place or a wrong text",
    arguments: [("0::/../x\n", "oom_kill 1"), ("1:cpu:/x\n", "oom_kill 1"), ("0::/x\n", "oom_kill -1"), ("", "")])
  func noMemoryEvents(cgroups: String, text: String) {
    #expect(MemoryEvents.of(cgroups: cgroups) { _ in text } == nil)
  }
}
