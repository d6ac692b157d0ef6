import CrashClient
import CrashMaker
import CrashProtocol
import CrashReport
import Glibc
import TestKit
import Testing

/// Tests that crashd reports each unreported exit, and no orderly exit.
///
/// An unreported exit is the end of a process without a crash record, such as by SIGKILL.
@Suite(.sharedDaemon, .serialized)
struct SilentDeathTests {
  @Test("the report of a SIGKILL has the cause, the last breadcrumb and the annotations")
  func sigkill() async throws {
    let daemon = try SharedDaemon.current
    let crash = try await Crasher.run("sigkill", ["--wait-attached"], environment: daemon.place.environment)
    let reports = try await daemon.reports(of: crash.pid)
    let report = try #require(reports.first)
    #expect(reports.count == 1)
    #expect(report.kind == .silent)
    #expect(report.signal.name == "SIGKILL")
    #expect(report.death?.signal == 9 && report.death?.dumpedCore == false)
    #expect(report.diagnosis.cause == "killed")
    #expect(report.diagnosis.sentence == "Killed (SIGKILL from outside).")
    #expect(report.breadcrumbs.last?.text == "about to crash: sigkill")
    #expect(report.annotations["scenario"] == "sigkill")
    #expect(report.threads.isEmpty && report.losses.isEmpty)
    #expect(report.group.title == "Killed (SIGKILL from outside): crash-maker")
  }

  @Test("the report of a fault while all signals are blocked states that no handler could run")
  func blocked() async throws {
    let daemon = try SharedDaemon.current
    let crash = try await Crasher.run("all-signals-blocked", ["--wait-attached"], environment: daemon.place.environment)
    let report = try #require(try await daemon.reports(of: crash.pid).first)
    #expect(report.kind == .silent)
    #expect(report.signal.name == "SIGSEGV")
    #expect(report.diagnosis.cause == "handler-did-not-run")
  }

  @Test("a SIGABRT from another process, such as a watchdog, is reported as a crash with a stack and the sender")
  func watchdog() async throws {
    let daemon = try SharedDaemon.current
    let crash = try await Crasher.run(
      "kill-abort-from-outside", ["--wait-attached"], environment: daemon.place.environment)
    let report = try #require(try await daemon.reports(of: crash.pid).first)
    #expect(report.kind == nil && report.death == nil)
    #expect(report.signal.name == "SIGABRT")
    #expect(report.diagnosis.rule == "sent-signal")
    #expect(report.crashedThread?.topOwnFrame?.function == "kill_from_outside")
  }

  @Test("an exit by SIGTERM, SIGINT or SIGHUP is not an unreported exit", arguments: [SIGTERM, SIGINT, SIGHUP])
  func stopped(signal: Int32) async throws {
    let daemon = try SharedDaemon.current
    let victim = try await Victim.start("sigkill", in: daemon)
    victim.process.signal(signal)
    #expect(try await victim.process.wait().signal == signal)
    #expect(try await daemon.reports(of: victim.process.pid).isEmpty)
  }

  @Test(
    "a process that executes another program is detached, even while a child keeps the connection open",
    arguments: ["exec-and-stay", "exec-with-child"])
  func exec(name: String) async throws {
    let daemon = try SharedDaemon.current
    let victim = try await Victim.start(name, in: daemon)
    let (pid, client, input) = (victim.process.pid, daemon.client, victim.input)
    let isAttached = { @Sendable in try client.processes().contains { $0.pid == Int(pid) } }
    // crashd answers this request after it has processed the attach of the executed program.
    #expect(try await daemon.reports(of: pid).isEmpty)
    #expect(try await blocking(isAttached))
    victim.goOn()
    try await blocking {
      while case let line = try input.readLine(), line != "became" { try #require(line.hasPrefix("child ")) }
    }
    #expect(try await daemon.reports(of: pid).isEmpty)
    #expect(try await !blocking(isAttached))
    victim.process.signal(SIGKILL)
    #expect(try await victim.process.wait().signal == SIGKILL)
    #expect(try await daemon.reports(of: pid).isEmpty)
    #expect(try await blocking { try client.status() }.losses["end"] == nil)
  }

  @Test("a process that executes another shielded program and is killed has one unreported exit, of the new program")
  func execAgain() async throws {
    let daemon = try SharedDaemon.current
    let victim = try await Victim.start("exec-again-with-child", in: daemon)
    let input = victim.input
    victim.goOn()
    try await blocking {
      while case let line = try input.readLine(), line != "attached" { try #require(line.hasPrefix("child ")) }
    }
    victim.goOn()
    #expect(try await victim.process.wait().signal == SIGKILL)
    let reports = try await daemon.reports(of: victim.process.pid)
    #expect(reports.map { $0.breadcrumbs.last?.text } == ["about to crash: sigkill"])
    #expect(reports.map(\.diagnosis.cause) == ["killed"])
  }

  @Test("a normal exit with any status is not an unreported exit", arguments: ["fork-child", "exec-after-attach"])
  func exited(name: String) async throws {
    let daemon = try SharedDaemon.current
    let crash = try await Crasher.run(name, ["--wait-attached"], environment: daemon.place.environment)
    #expect(crash.status.signal == 0)
    #expect(try await daemon.reports(of: crash.pid).isEmpty)
  }

  @Test("crashd detects an unreported exit even while a child of the process keeps the connection open")
  func childHoldsConnection() async throws {
    let daemon = try SharedDaemon.current
    let crash = try await Crasher.run("sigkill-with-child", ["--wait-attached"], environment: daemon.place.environment)
    let child = try #require(crash.child)
    defer { kill(child, SIGKILL) }
    #expect(kill(child, 0) == 0)
    let report = try #require(try await daemon.reports(of: crash.pid).first)
    #expect(report.kind == .silent && report.diagnosis.cause == "killed")
  }

  @Test(
    "crashd identifies an OOM kill by the control group's counter, and does not report another SIGKILL as an OOM kill",
    .enabled("no memory control group can be made here") { try MemoryGroup.canBeMade() })
  func outOfMemory() async throws {
    let group = try #require(try MemoryGroup.make("victims"))
    let daemon = try SharedDaemon.current
    let neighbour = try await Victim.start("sigkill", in: daemon, through: group.entrance)
    let victim = try await Victim.start("oom-kill", in: daemon, through: group.entrance)
    victim.goOn()
    #expect(try await victim.process.wait().signal == SIGKILL)
    let report = try #require(try await daemon.reports(of: victim.process.pid).first)
    #expect(report.kind == .silent)
    #expect(report.diagnosis.cause == "out-of-memory")
    #expect(report.diagnosis.sentence.hasPrefix("Killed by the kernel: out of memory"))
    #expect(report.death?.oomKills == 1 && report.death?.oomVictim == true && report.death?.oomCandidates == 1)
    #expect(report.breadcrumbs.last?.text == "about to crash: oom-kill")

    neighbour.goOn()
    #expect(try await neighbour.process.wait().signal == SIGKILL)
    let other = try #require(try await daemon.reports(of: neighbour.process.pid).first)
    #expect(other.diagnosis.cause == "killed")
    #expect(other.death?.oomVictim != true)
    try group.remove()
  }
}

/// A temporary control group with a memory limit.
private struct MemoryGroup {
  var path: String

  /// A shell command that moves its process into the control group and then executes the arguments.
  var entrance: [String] { ["/bin/sh", "-c", "echo $$ > '\(path)/cgroup.procs' && exec \"$@\"", "sh"] }

  static func canBeMade() throws -> Bool {
    guard let group = try make("probe") else { return false }
    try group.remove()
    return true
  }

  /// Returns nil if the test is not allowed to create a control group on this machine.
  static func make(_ suffix: String) throws -> MemoryGroup? {
    let name = "crash-tests-\(getpid())-\(suffix)"
    for (root, limit) in [("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")] {
      let path = "\(root)/\(name)"
      // If the path is not in a control group file system, mkdir creates an ordinary directory, or fails.
      guard unsafe mkdir(path, 0o755) == 0 else { continue }
      let group = MemoryGroup(path: path)
      if group.write("201326592", to: limit) {
        _ = group.write("0", to: "memory.swap.max")
        return group
      }
      try group.remove()
    }
    return nil
  }

  func remove() throws {
    if unsafe rmdir(path) != 0 { throw SystemError("rmdir '\(path)'", errno) }
  }

  private func write(_ text: String, to file: String) -> Bool {
    let descriptor = unsafe open("\(path)/\(file)", O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    let bytes = Array(text.utf8)
    return unsafe Glibc.write(descriptor, bytes, bytes.count) == bytes.count
  }
}
