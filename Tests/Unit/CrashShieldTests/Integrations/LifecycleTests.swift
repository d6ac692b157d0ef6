import Logging
import ServiceLifecycle
import ServiceLifecycleTestKit
import Synchronization
import Testing

@testable import CrashShieldLifecycle

@Suite("The shield in swift-service-lifecycle")
struct LifecycleTests {
  @Test("reports have the start of a shutdown")
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

  @Test("a cancelled service group counts as shutting down")
  func cancelled() async {
    let (phases, said) = AsyncStream.makeStream(of: String.self)
    let run = Task { try await ShutdownNote { said.yield($0) }.run() }
    var iterator = phases.makeAsyncIterator()
    #expect(await iterator.next() == "running")
    run.cancel()
    #expect(await iterator.next() == "shutting down")
    await #expect(throws: CancellationError.self) { try await run.value }
  }

  @Test("in a service group the breadcrumb precedes the end of other services, and the drain follows it")
  func order() async throws {
    let events = Mutex<[String]>([])
    let (started, said) = AsyncStream.makeStream(of: Void.self)
    let note = ShutdownNote { phase in
      events.withLock { $0.append(phase) }
      said.yield()
    }
    let server = ClosureService {
      said.yield()
      try await gracefulShutdown()
      events.withLock { $0.append("server ends") }
    }
    let drain = QuarantineDrain { events.withLock { $0.append("drained") } }
    let group = ServiceGroup(
      services: [drain, server, note], logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
    async let ended: Void = group.run()
    var iterator = started.makeAsyncIterator()
    _ = await iterator.next()
    _ = await iterator.next()
    await group.triggerGracefulShutdown()
    try await ended
    #expect(events.withLock { $0 } == ["running", "shutting down", "server ends", "drained"])
  }
}
