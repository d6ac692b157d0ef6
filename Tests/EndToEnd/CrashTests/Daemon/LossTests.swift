import CrashClient
import CrashProtocol
import CrashReport
import Glibc
import LinuxSystem
import TestKit
import Testing

/// Tests that no crash is lost when crashd is killed, stopped or overloaded, and that crashd counts each loss.
@Suite
struct LossTests {
  @Test("a crash while crashd is killed is reported after crashd's restart")
  func killedBefore() async throws {
    let first = try await PrivateDaemon.start()
    let place = first.place
    let (ours, theirs) = try FileDescriptor.pair()
    let crasher = try ChildProcess.start(
      Binaries.path("crash-maker"), ["array-index", "--wait-attached", "--wait-input"],
      ChildProcess.Options(environment: place.environment, input: theirs.number, output: theirs.number))
    #expect(try await blocking { try ours.readLine() } == "attached")
    try await first.kill()
    #expect(unsafe write(ours.number, "\n", 1) == 1)
    #expect(try await crasher.wait().signal == trapSignal)

    let second = try await PrivateDaemon.start(in: place)
    let report = try await second.firstReport(of: crasher.pid)
    #expect(report.reason.contains("Index out of range"))
    #expect(report.crashedThread?.topOwnFrame?.function.contains("faultArrayIndex") == true)
    try await second.stop()
  }

  @Test("a crash of a process that never attached to crashd is reported when crashd starts")
  func neverThere() async throws {
    let place = try PrivateDaemon.Place()
    let crash = try await Crasher.run("null-write", environment: place.environment)
    #expect(crash.status.signal == SIGSEGV)
    let daemon = try await PrivateDaemon.start(in: place)
    let report = try await daemon.firstReport(of: crash.pid)
    #expect(report.signal.name == "SIGSEGV")
    #expect(report.crashedThread?.topOwnFrame?.function == "cs_fault_null_write")
    try await daemon.stop()
  }

  @Test("each report is stored exactly once after a restart of crashd")
  func restart() async throws {
    let first = try await PrivateDaemon.start()
    let crash = try await Crasher.run("force-unwrap", ["--wait-attached"], environment: first.place.environment)
    let before = try await first.reports(of: crash.pid)
    try await first.stop()
    let second = try await PrivateDaemon.start(in: first.place)
    let after = try await blocking { try second.client.list() }
    #expect(after.map(\.id) == before.map(\.id))
    var (same, kept) = (try await blocking { try second.client.report().report }, try #require(before.first))
    // The unwind cross-check can finish after the first read of the report. Therefore do not compare its result.
    (same.unwinding, kept.unwinding) = (nil, nil)
    #expect(same == kept && before.count == 1)
    try await second.stop()
  }

  @Test("the exit of a process that is killed while it writes its record is reported, and the lost record is counted")
  func killedMidRecord() async throws {
    try await PrivateDaemon.run { daemon in
      let crash = try await Crasher.run(
        "killed-mid-record", ["--wait-attached"], environment: daemon.place.environment)
      #expect(crash.status.signal == SIGKILL)
      let report = try #require(try await daemon.reports(of: crash.pid).first)
      #expect(report.kind == .silent)
      #expect(report.losses == ["torn": 1])
      let client = daemon.client
      let status = try await blocking { try client.status() }
      #expect(status.losses == ["torn": 1])
    }
  }

  @Test(
    "after crashd is killed during crashes, the next crashd reports each crash once, including spooled crashes")
  func killedDuring() async throws {
    let place = try PrivateDaemon.Place()
    var pids: Set<Int> = []
    for _ in 0..<4 {
      let daemon = try await PrivateDaemon.start(in: place)
      var victims: [Victim] = []
      for name in ["array-index", "null-write", "abort"] { victims.append(try await Victim.start(name, in: daemon)) }
      for victim in victims { victim.goOn() }
      // When crashd is killed, a crash can be in the ring of its process, in the socket, or in the store.
      try await daemon.kill()
      for victim in victims {
        #expect([trapSignal, SIGSEGV, SIGABRT].contains(try await victim.process.wait().signal))
        pids.insert(Int(victim.process.pid))
      }
    }
    let last = try await PrivateDaemon.start(in: place)
    let crash = try await Crasher.run("raise", ["--wait-attached"], environment: place.environment)
    #expect(try await last.reports(of: crash.pid).count == 1)
    // crashd reads and removes every spool file before it stops.
    try await last.stop()
    #expect(try entries(of: place.runtime + "/spool").isEmpty)
    let after = try await PrivateDaemon.start(in: place)
    let found = try await blocking { try after.client.list().map(\.pid) }
    #expect(found.count == Set(found).count, "\(found)")
    #expect(Set(found) == pids.union([Int(crash.pid)]))
    try await after.stop()
  }

  @Test(
    "if a process crashes while crashd is stopped, and crashd is then killed, the next crashd reports the crash",
    arguments: ["array-index", "simultaneous-8"])
  func killedBeforeStored(scenario: String) async throws {
    let place = try PrivateDaemon.Place()
    let first = try await PrivateDaemon.start(in: place)
    let crash = try await Victim.start(scenario, in: first)
    try await first.stopRunning()
    crash.goOn()
    let signal = try await crash.process.wait().signal
    #expect(signal != 0)
    let spool = place.runtime + "/spool"
    #expect(try entries(of: spool).map { $0.hasSuffix(".ring") } == [true])
    try await first.kill()
    let second = try await PrivateDaemon.start(in: place)
    let report = try await second.firstReport(of: crash.process.pid)
    #expect(try Crasher.signalNumber(report.signal.name) == signal)
    #expect(!report.threads.isEmpty)
    try await second.stop()
    #expect(try entries(of: spool).isEmpty)
  }

  @Test("if one process crashes and another one is killed while crashd is stopped, crashd reports both after SIGCONT")
  func standingStill() async throws {
    try await PrivateDaemon.run { daemon in
      let crash = try await Victim.start("array-index", in: daemon)
      let death = try await Victim.start("sigkill", in: daemon)
      daemon.process.signal(SIGSTOP)
      crash.goOn()
      death.goOn()
      #expect(try await crash.process.wait().signal == trapSignal)
      #expect(try await death.process.wait().signal == SIGKILL)
      daemon.process.signal(SIGCONT)
      let report = try #require(try await daemon.reports(of: crash.process.pid).first)
      #expect(report.reason.contains("Index out of range"))
      #expect(try await daemon.reports(of: death.process.pid).map(\.diagnosis.cause) == ["killed"])
    }
  }

  @Test(
    "crashd without free descriptors refuses processes and logs it; with free ones again, it reports crashes")
  func descriptorLimit() async throws {
    let daemon = try await PrivateDaemon.start(descriptorLimit: 64)
    let before = try await daemon.settledDescriptorCount(at: nil)
    var connections: [FileDescriptor] = []
    for _ in 0..<100 { connections.append(try Self.connect(to: daemon.place.runtime + "/attach")) }
    let log = daemon.place.logPath
    let watch = try FileDescriptor(inotify_init1(Int32(IN_CLOEXEC)), from: "inotify_init1")
    #expect(unsafe inotify_add_watch(watch.number, log, UInt32(IN_MODIFY)) >= 0)
    try await blocking {
      while try !contents(of: log).contains("refused connection") {
        try watch.awaitInput()
        _ = try watch.read(4_096)
      }
    }
    connections = []
    // crashd accepts the queued connections one by one, and then closes them.
    #expect(try await daemon.settledDescriptorCount(at: before) <= before)
    let crash = try await Crasher.run("array-index", ["--wait-attached"], environment: daemon.place.environment)
    #expect(crash.status.signal == trapSignal)
    #expect(try await daemon.reports(of: crash.pid).count == 1)
    let client = daemon.client
    #expect(try await blocking { try client.status() }.refusals["connection"] ?? 0 > 0)
    try await daemon.stop()
  }

  /// Opens a connection on which the client never sends its first message (hello).
  private static func connect(to path: String) throws -> FileDescriptor {
    let number = socket(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let descriptor = try FileDescriptor(number, from: "socket")
    guard UnixAddress(path: path)?.connect(number) == 0 else { throw SystemError("connect to '\(path)'", errno) }
    return descriptor
  }

  @Test("crashd leaves no descriptor, process or file of reported crashes behind")
  func leftovers() async throws {
    let daemon = try await PrivateDaemon.start()
    let client = daemon.client
    // At the first crash, crashd opens the files of the store, which stay open. So one crash comes before the count.
    let warmUp = try await Crasher.run("raise", ["--wait-attached"], environment: daemon.place.environment)
    _ = try await daemon.reports(of: warmUp.pid)
    let before = try await daemon.settledDescriptorCount(at: nil)
    for name in ["array-index", "abort", "stack-overflow", "task-deep-async", "raise"] {
      let crash = try await Crasher.run(name, ["--wait-attached"], environment: daemon.place.environment)
      #expect(try await daemon.reports(of: crash.pid).count == 1)
    }
    #expect(try await daemon.settledDescriptorCount(at: before) <= before)
    #expect(try await blocking { try client.processes() }.isEmpty)
    try await daemon.stop()
    // A forked child of crashd that has not executed its own program yet has the command line of crashd, with this
    // path.
    let root = daemon.place.root.path
    try await blocking {
      try Patience.wait(for: "processes of \(root) were left") { slice -> Void? in
        if try Self.processes(mentioning: root).isEmpty { return () }
        usleep(useconds_t(slice.components.seconds) * 100_000)
        return nil
      }
    }
    let spool = daemon.place.runtime + "/spool"
    // crashd leaves its sockets, because a socket at the same path can already belong to the next crashd.
    let names: Set = ["attach", "crashd.lock", "io.crashshield.Crashd", "spool"]
    #expect(try entries(of: daemon.place.runtime).filter { !names.contains($0) } == [])
    #expect(try entries(of: spool).isEmpty)
  }

  /// Returns the processes whose command line or environment contains this path.
  private static func processes(mentioning path: String) throws -> [String] {
    try entries(of: "/proc").filter { Int32($0) != nil && $0 != String(getpid()) }.filter { pid in
      // Reading fails if the process has just ended, or if it belongs to another user.
      ["cmdline", "environ"].contains { file in
        (try? contents(of: "/proc/\(pid)/\(file)"))?.contains(path) == true
      }
    }
  }
}
