import CLinux
import CrashRing
import Glibc
import LinuxSystem
import Testing

@testable import CrashDaemon

@Suite("Exit statuses of processes")
struct ProcessEndTests {
  @Test("a process's exit status is read from its pidfd after it is reaped, and from /proc before")
  func endOfChild() async throws {
    let (pid, pidfd) = try await Self.zombie()
    #expect(ProcessEnd.of(pidfd: pidfd, pid: pid) == .status(7 << 8))
    #expect(waitpid(pid, nil, 0) == pid)
    #expect(ProcessEnd.of(pidfd: pidfd, pid: pid) == (try Self.kernelTells ? .status(7 << 8) : .unknown))
  }

  @Test("the exit status of another process that reused the pid is not used")
  func reusedPid() async throws {
    let (pid, pidfd) = try await Self.zombie()
    #expect(ProcessStat.read(pid: pid, of: pidfd)?.state == "Z")
    let before = Surroundings.of(Peer(pid: pid, uid: geteuid()), pidfd)
    #expect(before.startTime != nil)
    #expect(waitpid(pid, nil, 0) == pid)
    // The pidfd belongs to the ended child, and the pid to this process, as if this process had reused the pid of the
    // child.
    #expect(ProcessStat.read(pid: getpid(), of: pidfd) == nil)
    #expect(ProcessImage.of(pid: getpid(), pidfd) == nil)
    let surroundings = Surroundings.of(Peer(pid: getpid(), uid: geteuid()), pidfd)
    #expect(surroundings.startTime == nil && surroundings.unit == nil && surroundings.memory == nil)
    #expect(surroundings.pidfdInode == before.pidfdInode)
  }

  @Test("a process is identified by pid and start time, or by its pidfd's inode")
  func sameProcess() throws {
    let contents = try TestRing().contents()
    func facts(_ pid: Int32, _ startTime: UInt64?, _ pidfdInode: UInt64? = nil) -> ProcessFacts {
      ProcessFacts(
        contents.identity, contents.images, peer: Peer(pid: pid, uid: 7),
        surroundings: Surroundings(startTime: startTime, pidfdInode: pidfdInode))
    }
    #expect(facts(4, 9).isSameProcess(as: facts(4, 9)))
    #expect(facts(4, 9, 3).isSameProcess(as: facts(4, nil, 3)))
    let others = [
      (facts(4, 9), facts(5, 9)), (facts(4, 9), facts(4, 8)), (facts(4, nil), facts(4, nil)),
      (facts(0, 9), facts(0, 9)), (facts(4, 9, 3), facts(4, nil, 2)), (facts(4, 9, 3), facts(4, nil)),
    ]
    for (left, right) in others { #expect(!left.isSameProcess(as: right)) }
  }

  /// Whether a pidfd tells how its reaped process ended (PIDFD_INFO_EXIT, since Linux 6.15).
  private static var kernelTells: Bool { get throws { try isKernel(6, 15) } }

  /// Whether this kernel has at least this version.
  static func isKernel(_ major: Int, _ minor: Int) throws -> Bool {
    var name = utsname()
    // uname() writes one structure. Invariant: the strings in the structure end with a NUL.
    #expect(unsafe uname(&name) == 0)
    let release = unsafe withUnsafeBytes(of: &name.release) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
    let parts = release.split { !$0.isNumber }.prefix(2).compactMap { Int($0) }
    try #require(parts.count == 2, "'\(release)'")
    return (parts[0], parts[1]) >= (major, minor)
  }

  /// Starts a child that exits with status 7.
  ///
  /// Does not reap the child.
  private static func zombie() async throws -> (pid_t, Descriptor) {
    var child: pid_t = 0
    // Invariant: the array ends with nil, and is freed after the call.
    let words = ["sh", "-c", "exit 7"]
    var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
    defer { unsafe arguments.forEach { unsafe free($0) } }
    #expect(unsafe posix_spawn(&child, "/bin/sh", nil, nil, &arguments, nil) == 0)
    let pid = child
    var number: Int32 = -1
    try SystemError.check(unsafe cd_process_open(pid, &number), "open a child")
    try await onThread {
      var information = unsafe siginfo_t()
      // waitid() writes one structure. WNOWAIT leaves the child a zombie.
      guard unsafe waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) == 0 else { throw SystemError("waitid") }
    }
    return (pid, Descriptor(owning: number))
  }

  @Test("a running process has no exit status")
  func alive() throws {
    var number: Int32 = -1
    try SystemError.check(unsafe cd_process_open(getpid(), &number), "open this process")
    #expect(ProcessEnd.of(pidfd: Descriptor(owning: number), pid: getpid()) == nil)
    let stat = try #require(ProcessStat.read(pid: getpid()))
    #expect(!stat.isExiting)
  }

  @Test("/proc/PID/stat is parsed after the last parenthesis of the process name")
  func stat() {
    let zeros = { (count: Int) in String(repeating: " 0", count: count) }
    let rest = " Z 1 2 3 0 -1 4194308" + zeros(12) + " 77" + zeros(8) + " 256" + zeros(20) + " 9\n"
    let stat = ProcessStat(state: "Z", flags: 4_194_308, startTime: 77, pending: 256, exitStatus: 9)
    #expect(ProcessStat.parse("17 (a) S 1 (b)" + rest) == stat)
    #expect(stat.isExiting)
    let killed = ProcessStat(state: "D", flags: 0, startTime: 1, pending: 256, exitStatus: 0)
    let stopped = ProcessStat(state: "D", flags: 0, startTime: 1, pending: 1 << 14, exitStatus: 0)
    #expect(killed.isBeingKilled && !killed.isExiting && !stopped.isBeingKilled)
    for text in ["", "17 (a", "17 (a) Z 1", "17 (a) Z 1 2 3 0 -1 flags" + String(repeating: " 0", count: 44)] {
      #expect(ProcessStat.parse(text) == nil, "'\(text)'")
    }
  }
}
