import CrashClient
import CrashProtocol
import Foundation
import Glibc
import TestKit
import Testing

/// Tests that crashd counts all requests that began before a crash.
///
/// `CRASH_HEALTH_CRASHES=1000` runs a longer test.
@Suite
struct HealthTests {
  private static let crashes =
    ProcessInfo.processInfo.environment["CRASH_HEALTH_CRASHES"].flatMap { Int($0) } ?? 12
  private static let (served, inFlight, atOnce) = (30, 9, 4)

  /// Starts a process that waits for a line of input, and then serves requests and crashes.
  private static func start(_ place: PrivateDaemon.Place) throws -> (ChildProcess, FileDescriptor) {
    let (ours, theirs) = try FileDescriptor.pair()
    let child = try ChildProcess.start(
      Binaries.path("crash-maker"),
      [
        "array-index", "--wait-attached", "--wait-input", "--served", "\(served)", "--in-flight", "\(inFlight)",
        "--request", "POST /orders",
      ], ChildProcess.Options(environment: place.environment, input: theirs.number, output: theirs.number))
    return (child, ours)
  }

  /// Crashes several processes at once, and returns the crashd that runs afterwards.
  ///
  /// If `kills` is true, kills crashd before these processes serve requests, and starts another one.
  private static func crash(_ count: Int, _ daemon: PrivateDaemon, kills: Bool) async throws -> PrivateDaemon {
    let place = daemon.place
    let processes = try (0..<count).map { _ in try start(place) }
    for (_, descriptor) in processes { #expect(try await blocking { try descriptor.readLine() } == "attached") }
    if kills { try await daemon.kill() }
    for (_, descriptor) in processes { #expect(unsafe write(descriptor.number, "\n", 1) == 1) }
    for (child, _) in processes { #expect(try await child.wait().signal == trapSignal) }
    return kills ? try await PrivateDaemon.start(in: place) : daemon
  }

  /// Waits until crashd has read the rings of all ended processes and all spool files.
  private static func settle(_ daemon: PrivateDaemon) async throws {
    let client = daemon.client
    try await blocking {
      while true {
        let status = try client.status()
        if status.processes == 0, status.spooled == 0 { return }
      }
    }
  }

  @Test("every request of the last minute before a crash is counted, also while crashd is killed")
  func requests() async throws {
    var daemon = try await PrivateDaemon.start(options: ["--set", "limits.attaches-per-minute=100000"])
    var left = Self.crashes
    var round = 0
    while left > 0 {
      let count = min(Self.atOnce, left)
      daemon = try await Self.crash(count, daemon, kills: round % 2 == 1)
      try await Self.settle(daemon)
      (left, round) = (left - count, round + 1)
    }
    let client = daemon.client
    let builds = try await blocking { try client.health().builds }
    let build = try #require(builds.first)
    let requests = try #require(build.requests)
    let expected = Self.crashes * (Self.served + Self.inFlight + 1)
    print(
      "health: \(Self.crashes) crashes, \(requests.begun) of \(expected) requests counted, "
        + "\(expected - requests.begun) lost; \(requests.lost) of \(Self.crashes * (Self.inFlight + 1)) in flight")
    #expect(builds.count == 1 && build.crashes == Self.crashes && build.running == 0)
    #expect(requests.begun == expected && requests.finished == Self.crashes * Self.served && requests.failed == 0)
    #expect(requests.lost == Self.crashes * (Self.inFlight + 1))
    #expect(build.processSeconds > 0)
    try await daemon.stop()
  }

  @Test("crashctl health exits with 0 for a healthy build, with 1 without a program, and with 4 without a comparison")
  func gate() async throws {
    let daemon = try await PrivateDaemon.start()
    let ask = { (words: [String], status: Int32) in
      try await DanglingTests.crashctl(
        ["health", "--socket", daemon.place.varlinkSocket] + words, status: status)
    }
    // Exit code 1: no program has attached yet.
    _ = try await ask([], 1)
    _ = try await Crasher.run("array-index", ["--wait-attached"], environment: daemon.place.environment)
    try await Self.settle(daemon)
    #expect(try await ask(["--json=short"], 0).contains("\"crashes\":1"))
    // Exit code 4: the build is unknown, or there is no second build to compare with.
    _ = try await ask(["--build", "nothing"], 4)
    _ = try await ask(["--against", "nothing"], 4)
    let client = daemon.client
    let build = try await blocking { try client.health().builds[0].build }
    _ = try await ask(["--build", build], 4)
    try await daemon.stop()
  }
}
