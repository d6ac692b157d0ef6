import Logging
import ServiceLifecycle
import ServiceLifecycleTestKit
import Synchronization
import Testing

@testable import CrashShieldLifecycle

@Suite("The shield in swift-service-lifecycle")
struct LifecycleTests {
  @Test("the phase for crash reports changes from 'running' to 'shutting down' at a graceful shutdown")
  func phases() async throws {
    let (phases, said) = AsyncStream.makeStream(of: String.self)
    try await testGracefulShutdown { trigger in
      async let ended: Void = ShutdownNote { said.yield($0) }.run()
      var iterator = phases.makeAsyncIterator()
      #expect(await iterator.next() == "running")
      trigger.triggerGracefulShutdown()
      #expect(await iterator.next() == "shutting down")
      try await ended
    }
  }

  @Test("a canceled service group is treated as shutting down")
  func cancelled() async {
    let (phases, said) = AsyncStream.makeStream(of: String.self)
    let run = Task { try await ShutdownNote { said.yield($0) }.run() }
    var iterator = phases.makeAsyncIterator()
    #expect(await iterator.next() == "running")
    run.cancel()
    #expect(await iterator.next() == "shutting down")
    await #expect(throws: CancellationError.self) { try await run.value }
  }

  /// Records events in their order, and streams them.
  private final class Events: Sendable {
    private let happened = Mutex<[String]>([])
    private let (stream, continuation) = AsyncStream.makeStream(of: String.self)

    var all: [String] { happened.withLock { $0 } }

    func add(_ event: String) {
      happened.withLock { $0.append(event) }
      continuation.yield(event)
    }

    /// Waits until all of these events have occurred.
    func wait(for wanted: Set<String>) async {
      var missing = wanted
      for await event in stream {
        missing.remove(event)
        if missing.isEmpty { return }
      }
    }
  }

  private static let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })

  private static func service(_ events: Events, around services: [any Service]) -> ShieldService {
    ShieldService(
      around: services,
      metrics: MetricsRun {
        events.add("metrics run")
        do { try await Task.sleep(for: .seconds(86_400)) } catch { events.add("metrics end") }
      },
      drain: QuarantineDrain { events.add("drained") }, note: ShutdownNote { events.add($0) }, logger: logger)
  }

  @Test("at a shutdown the phase changes, then the services end, then the quarantine drains, then metrics end")
  func order() async throws {
    let events = Events()
    let server = ClosureService {
      events.add("server runs")
      try await gracefulShutdown()
      events.add("server ends")
    }
    let group = ServiceGroup(services: [Self.service(events, around: [server])], logger: Self.logger)
    async let ended: Void = group.run()
    await events.wait(for: ["running", "server runs", "metrics run"])
    await group.triggerGracefulShutdown()
    try await ended
    #expect(events.all.suffix(4) == ["shutting down", "server ends", "drained", "metrics end"])
  }

  @Test("without services, the shield's service ends at the shutdown of its group, after the services behind it")
  func alone() async throws {
    let events = Events()
    let server = ClosureService {
      events.add("server runs")
      try await gracefulShutdown()
      events.add("server ends")
    }
    let group = ServiceGroup(services: [Self.service(events, around: []), server], logger: Self.logger)
    async let ended: Void = group.run()
    await events.wait(for: ["running", "server runs", "metrics run"])
    await group.triggerGracefulShutdown()
    try await ended
    #expect(events.all.suffix(4) == ["server ends", "shutting down", "drained", "metrics end"])
  }

  @Test("a service that fails ends the other services, and the group throws its error")
  func failure() async {
    struct Failure: Error {}
    let events = Events()
    let service = Self.service(events, around: [ClosureService { throw Failure() }])
    await #expect(throws: Failure.self) { try await service.run() }
    #expect(events.all.contains("drained"))
  }
}
