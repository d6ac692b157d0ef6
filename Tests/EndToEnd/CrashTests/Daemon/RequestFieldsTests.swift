import CrashMaker
import CrashReport
import Glibc
import TestKit
import Testing

/// Tests that reports, and the output of crashctl, contain the requests of real processes.
@Suite(.sharedDaemon, .serialized)
struct RequestFieldsTests {
  private static let route = "POST /orders/{id}"
  private static let words = ["--wait-attached", "--request", route, "--in-flight", "20"]

  @Test(
    "the report of a crash in a request names this request and those in flight, on a thread and in a task",
    arguments: ["array-index", "null-write"], ["task", "pthread"])
  func crash(scenario: String, thread: String) async throws {
    let daemon = try SharedDaemon.current
    let crash = try await Crasher.run(
      scenario, Self.words + ["--thread", thread], environment: daemon.place.environment)
    let report = try #require(try await daemon.reports(of: crash.pid).first)
    let request = try #require(report.request)
    #expect(request.operation == Self.route && request.id == CrashRun.requestID && request.tags == ["customer": "17"])
    #expect(request.traceID == CrashRun.traceID && request.spanID == CrashRun.spanID)
    let inFlight = try #require(report.inFlight)
    #expect(inFlight.total == 21 && inFlight.requests.count == 21 && inFlight.overflow == 0)
    #expect(inFlight.requests.filter { $0.crashed == true }.map(\.number) == [request.number])
    // The list has the oldest request first, so the request that crashed, which began last, is its last one.
    #expect(inFlight.requests.last?.number == request.number && inFlight.requests.allSatisfy { $0.age_ns > 0 })
    #expect(report.process.requests == CrashReport.RequestCounts(begun: 21, finished: 0, failed: 0, lost: 21))
    #expect(report.losses.isEmpty)
  }

  @Test("crashctl shows the request of a crash, and finds the crash only by its own route and trace")
  func crashctl() async throws {
    let daemon = try SharedDaemon.current
    let crash = try await Crasher.run("array-index", Self.words, environment: daemon.place.environment)
    let report = try #require(try await daemon.reports(of: crash.pid).first)
    let ask = { (words: [String], status: Int32) in
      try await DanglingTests.crashctl(words + ["--socket", daemon.place.varlinkSocket], status: status)
    }
    let text = try await ask(["show", report.id], 0)
    #expect(text.contains("in request \(Self.route) · id \(CrashRun.requestID) · trace \(CrashRun.traceID)"))
    #expect(text.contains("Requests in flight: 21\n") && text.contains("… and 11 more: --json\n"))
    let pid = ["list", "--json=short", "--pid", "\(crash.pid)"]
    for options in [["--route", Self.route], ["--trace-id", CrashRun.traceID, "--route", Self.route]] {
      #expect(try await ask(pid + options, 0).contains(report.id), "\(options)")
    }
    for options in [["--route", "POST"], ["--trace-id", String(repeating: "0", count: 32)]] {
      // crashctl exits with 1 because no crash matches.
      #expect(try await !ask(pid + options, 1).contains(report.id), "\(options)")
    }
    let metrics = try await ask(["metrics"], 0)
    let build = "build=\"\(report.process.buildID)\""
    #expect(
      metrics.split(separator: "\n").contains {
        $0.hasPrefix("crashd_requests_ended_total{") && $0.contains(build) && $0.contains("outcome=\"lost\"")
          && !$0.hasSuffix(" 0")
      })
  }

  @Test("the report of a killed process lists the requests that were running")
  func killed() async throws {
    let daemon = try SharedDaemon.current
    let crash = try await Crasher.run("sigkill", Self.words, environment: daemon.place.environment)
    let report = try #require(try await daemon.reports(of: crash.pid).first)
    #expect(report.kind == .silent && report.request == nil)
    #expect(report.inFlight?.total == 21 && report.process.requests?.lost == 21)
  }

  @Test("the report of a program without requests contains no requests")
  func none() async throws {
    let daemon = try SharedDaemon.current
    let crash = try await Crasher.run("array-index", ["--wait-attached"], environment: daemon.place.environment)
    let report = try #require(try await daemon.reports(of: crash.pid).first)
    #expect(report.request == nil && report.inFlight == nil && report.process.requests == nil)
  }
}
