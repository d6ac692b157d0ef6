import CShim
import CShimRing
import CrashMaker
import CrashShield
import Dispatch
import Foundation
import Glibc
import TestKit
import Testing

/// Tests that the record of a crash names the request that crashed.
///
/// Each crash occurs in a separate process, while other requests run.
@Suite("The request of a crash", .unlessSanitized)
struct RequestLookupTests {
  /// Each way to run code, with two of the faults.
  ///
  /// Each fault occurs with and without a request.
  private static let crashes = RequestWay.allCases.enumerated().flatMap { index, way in
    [0, 2].map { (way, RequestFault.allCases[(index + $0) % RequestFault.allCases.count]) }
  }

  @Test("the record has the request of the crashed code, and not another request", arguments: crashes)
  func found(way: RequestWay, fault: RequestFault) async throws {
    try await withSpool { directory in
      await #expect(processExitsWith: .signal(fault.signal)) {
        [directory = directory as String, way = way as RequestWay, fault = fault as RequestFault] in
        startShield(spool: directory)
        beBusy()
        // The first request in a task makes the shield verify the memory layout of tasks, which the lookup of requests
        // needs.
        await Shield.withRequest("first") { await Task.yield() }
        await way.run(fault)
      }
      try withSpooledRing(in: directory) { ring in
        let crashed = ring.crashed()
        if let expected = way.expected {
          #expect(crashed.isWhole && crashed.request.isRunning && crashed.request.operation == expected)
          #expect(ring.requests.contains(crashed.request))
        } else {
          #expect(crashed.request.number == 0, "\(crashed.request.operation)")
        }
        #expect(ring.header.request_lookup == cs_ring_request_lookup.CS_RING_REQUEST_LOOKUP_WORKS.rawValue)
      }
    }
  }

  @Test(
    "if the runtime layout of tasks is unknown, only crashes in synchronous code have a request",
    arguments: [true, false])
  func otherLayout(isInTask: Bool) async throws {
    try await withSpool { directory in
      await #expect(processExitsWith: .signal(trapSignal)) {
        [directory = directory as String, isInTask = isInTask as Bool] in
        startShield(spool: directory)
        cs_testing_move_task_locals()
        await Shield.withRequest("first") { await Task.yield() }
        guard Shield.status.findsRequests == false else { complain("\(Shield.status)") }
        await (isInTask ? RequestWay.task : .synchronous).run(.trap)
      }
      try withSpooledRing(in: directory) { ring in
        #expect(ring.header.request_lookup == cs_ring_request_lookup.CS_RING_REQUEST_LOOKUP_REFUSED.rawValue)
        #expect(ring.crashed().request.operation == (isInTask ? "" : "the request"))
        #expect(ring.requests.filter(\.isRunning).map(\.operation) == ["the request"])
      }
    }
  }

  @Test("a spool file contains running requests only, and no data of ended requests")
  func spooled() async throws {
    try await withSpool { directory in
      await #expect(processExitsWith: .signal(trapSignal)) { [directory = directory as String] in
        startShield(spool: directory)
        // The first 64 threads each search for a free entry from another part of the table on, so 70 threads use all
        // parts.
        for number in 0..<70 {
          let hasEnded = DispatchSemaphore(value: 0)
          Thread.detachNewThread {
            Shield.withRequest("ended \(number)", id: "secret", tags: ["secret": "secret"]) {}
            hasEnded.signal()
          }
          await Task.detached { hasEnded.wait() }.value
        }
        await RequestWay.task.run(.trap)
      }
      try withSpooledRing(in: directory) { ring in
        #expect(ring.header.request_high > CS_RING_REQUEST_LIMIT - 64 && ring.header.request_finished == 70)
        #expect(ring.requests.filter(\.isRunning).map(\.operation) == ["the request"])
        #expect(ring.requests.allSatisfy { $0.isRunning || ($0.number == 0 && $0.id.isEmpty && $0.tags.isEmpty) })
      }
    }
  }

  @Test(
    "a crash of crash-maker in a request is recorded with this request, on each kind of thread",
    arguments: CrashRun.Thread.allCases)
  func maker(thread: CrashRun.Thread) throws {
    let options = ["--thread", thread.rawValue, "--request", "GET /cart/:id", "--in-flight", "100"]
    try withCapturedRing("array-index", options) { path in
      try withRing(at: path) { ring in
        let (request, isWhole) = ring.crashed()
        #expect(isWhole && request.operation == "GET /cart/:id" && request.id == CrashRun.requestID)
        #expect(request.tags == ["customer", "17"] && request.traceID.first == 0x4b && request.spanID.last == 0xb7)
        let running = ring.requests.filter(\.isRunning)
        #expect(running.count == 101 && Set(running.map(\.id)).count == 101 && running.contains(request))
      }
    }
  }

  @Test("the first request in a task verifies the runtime layout, and enables the lookup")
  func works() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      startShield()
      guard Shield.status.findsRequests == nil else { complain("\(Shield.status)") }
      await Shield.withRequest("first") { await Task.yield() }
      guard Shield.status.findsRequests == true else { complain("\(Shield.status)") }
      exit(rightStatus)
    }
  }
}

/// Starts tasks that run other requests until the process ends.
///
/// Between two requests, each task lets the test run.
private func beBusy() {
  for number in 0..<8 {
    Task.detached {
      while true {
        await Shield.withRequest("other \(number)") { try? await Task.sleep(for: .microseconds(100)) }
      }
    }
  }
}
