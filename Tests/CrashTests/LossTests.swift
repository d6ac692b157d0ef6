import CrashClient
import CrashReport
import Glibc
import Testing

/// No crash is lost, whatever happens to crashd; and what is lost is counted.
@Suite
struct LossTests {
  @Test("crashd killed before the crash: the report is there after its restart")
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
    #expect(try await crasher.wait().signal == SIGILL)

    let second = try await PrivateDaemon.start(in: place)
    let report = try await second.firstReport(of: crasher.pid)
    #expect(report.reason.contains("Index out of range"))
    #expect(report.crashedThread?.topOwnFrame?.function.contains("faultArrayIndex") == true)
    try await second.stop()
  }

  @Test("crashd not there at the start nor at the crash: the report is there once it runs")
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

  @Test("a restart of crashd keeps each report, once")
  func restart() async throws {
    let first = try await PrivateDaemon.start()
    let crash = try await Crasher.run("force-unwrap", ["--wait-attached"], environment: first.place.environment)
    let before = try await first.reports(of: crash.pid)
    try await first.stop()
    let second = try await PrivateDaemon.start(in: first.place)
    let after = try await blocking { try second.client.list() }
    #expect(after.map(\.id) == before.map(\.id))
    let same = try await blocking { try second.client.report().report }
    #expect([same] == before)
    try await second.stop()
  }

  @Test("of a process killed while it writes its record the death is reported, and the loss is counted")
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

  @Test("after crashes nothing is left: no descriptor, no process, no file")
  func leftovers() async throws {
    let daemon = try await PrivateDaemon.start()
    let client = daemon.client
    // The first crash opens what stays open: the store's files.
    let warmUp = try await Crasher.run("raise", ["--wait-attached"], environment: daemon.place.environment)
    _ = try await daemon.reports(of: warmUp.pid)
    let before = try await daemon.settledDescriptorCount(at: nil)
    for name in ["array-index", "abort", "stack-overflow", "task-deep-async", "raise"] {
      let crash = try await Crasher.run(name, ["--wait-attached"], environment: daemon.place.environment)
      #expect(try await daemon.reports(of: crash.pid).count == 1)
    }
    #expect(try await daemon.settledDescriptorCount(at: before) == before)
    #expect(try await blocking { try client.processes() }.isEmpty)
    try await daemon.stop()
    #expect(try processes(mentioning: daemon.place.root.path).isEmpty)
    let spool = daemon.place.runtime + "/spool"
    // These stay: by its path alone crashd cannot tell its own socket from that of a successor.
    let names: Set = ["attach", "crashd.lock", "io.crashshield.Crashd", "spool"]
    #expect(try entries(of: daemon.place.runtime).filter { !names.contains($0) } == [])
    #expect(try entries(of: spool).isEmpty)
  }

  /// Processes whose command line or environment names a path.
  private func processes(mentioning path: String) throws -> [String] {
    try entries(of: "/proc").filter { Int32($0) != nil && $0 != String(getpid()) }.filter { pid in
      // A process may end meanwhile, or be somebody else's.
      ["cmdline", "environ"].contains { file in
        (try? contents(of: "/proc/\(pid)/\(file)"))?.contains(path) == true
      }
    }
  }
}
