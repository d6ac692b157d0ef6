import CrashMaker
import CrashReport
import Glibc
import Testing

/// Deaths that no handler sees are noticed from outside; whoever ends well is not reported.
@Suite(.sharedDaemon, .serialized)
struct SilentDeathTests {
  @Test("SIGKILL: the report has the cause, the last breadcrumb and the annotations")
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

  @Test("a fault with every signal blocked: the report says that no handler could run")
  func blocked() async throws {
    let daemon = try SharedDaemon.current
    let crash = try await Crasher.run("all-signals-blocked", ["--wait-attached"], environment: daemon.place.environment)
    let report = try #require(try await daemon.reports(of: crash.pid).first)
    #expect(report.kind == .silent)
    #expect(report.signal.name == "SIGSEGV")
    #expect(report.diagnosis.cause == "handler-did-not-run")
  }

  @Test("a watchdog's SIGABRT is a crash with a stack, and names the sender")
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

  @Test("a stop by SIGTERM, SIGINT or SIGHUP is no death", arguments: [SIGTERM, SIGINT, SIGHUP])
  func stopped(signal: Int32) async throws {
    let daemon = try SharedDaemon.current
    let victim = try await Victim.start("sigkill", in: daemon)
    victim.process.signal(signal)
    #expect(try await victim.process.wait().signal == signal)
    #expect(try await daemon.reports(of: victim.process.pid).isEmpty)
  }

  @Test("an exit of its own is no death, whatever the code", arguments: ["fork-child", "exec-after-attach"])
  func exited(name: String) async throws {
    let daemon = try SharedDaemon.current
    let crash = try await Crasher.run(name, ["--wait-attached"], environment: daemon.place.environment)
    #expect(crash.status.signal == 0)
    #expect(try await daemon.reports(of: crash.pid).isEmpty)
  }

  @Test("a death is noticed also while a child holds the connection open")
  func childHoldsConnection() async throws {
    let daemon = try SharedDaemon.current
    let crash = try await Crasher.run("sigkill-with-child", ["--wait-attached"], environment: daemon.place.environment)
    let child = try #require(crash.child)
    defer { kill(child, SIGKILL) }
    #expect(kill(child, 0) == 0)
    let report = try #require(try await daemon.reports(of: crash.pid).first)
    #expect(report.kind == .silent && report.diagnosis.cause == "killed")
  }

  @Test("out of memory: the report says so, by the counter of the control group")
  func outOfMemory() async throws {
    guard let group = try MemoryGroup.make() else { return }
    let daemon = try SharedDaemon.current
    let victim = try await Victim.start(
      "oom-kill", in: daemon, through: ["/bin/sh", "-c", "echo $$ > '\(group.path)/cgroup.procs' && exec \"$@\"", "sh"])
    victim.goOn()
    #expect(try await victim.process.wait().signal == SIGKILL)
    let report = try #require(try await daemon.reports(of: victim.process.pid).first)
    #expect(report.kind == .silent)
    #expect(report.diagnosis.cause == "out-of-memory")
    #expect(report.diagnosis.sentence.hasPrefix("Killed by the kernel: out of memory"))
    #expect(report.death?.oomKills == 1)
    #expect(report.breadcrumbs.last?.text == "about to crash: oom-kill")
    try group.remove()
  }
}

/// A throw-away control group with a memory limit.
private struct MemoryGroup {
  var path: String

  /// nil, with a note in the log, where this machine lets nobody make one.
  static func make() throws -> MemoryGroup? {
    let name = "crash-tests-\(getpid())"
    for (root, limit) in [("/sys/fs/cgroup", "memory.max"), ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")] {
      let path = "\(root)/\(name)"
      // A file system without control groups makes plain directories, or none.
      guard unsafe mkdir(path, 0o755) == 0 else { continue }
      let group = MemoryGroup(path: path)
      if group.write("201326592", to: limit) {
        _ = group.write("0", to: "memory.swap.max")
        return group
      }
      try group.remove()
    }
    print("oom-kill was not run: no memory control group can be made here")
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
