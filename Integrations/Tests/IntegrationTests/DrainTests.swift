import CrashShieldDrainService
import CrashShieldServer
import Logging
import ServiceLifecycle
import Synchronization
import Testing

struct DrainTests {
  @Test("each drain callback runs once, in order; a callback that is added after the beginning runs at once")
  func callbacks() {
    let (drain, calls) = (Drain(), Calls())
    drain.onBegin { calls.add(1) }
    drain.onBegin { calls.add(2) }
    #expect(calls.all.isEmpty)
    drain.begin()
    drain.begin()
    #expect(calls.all == [1, 2])
    drain.onBegin { calls.add(3) }
    #expect(calls.all == [1, 2, 3])
  }

  @Test(
    "the drain shuts the service group down gracefully, before or after the group starts", arguments: [true, false])
  func service(beginsEarlier: Bool) async throws {
    let drain = Drain()
    let logger = Logger(label: "test")
    if beginsEarlier { drain.begin() }
    let server = Waiter { if !beginsEarlier { drain.begin() } }
    let group = ServiceGroup(
      configuration: .init(services: [.init(service: server), DrainService(drain).configuration], logger: logger))
    // run() returns without an error only after a graceful shutdown.
    try await group.run()
    let isShutDown = server.isShutDown.load(ordering: .relaxed)
    #expect(isShutDown)
  }

  @Test("the service ends at a graceful shutdown without a drain")
  func shutdown() async throws {
    let group = ServiceGroup(
      configuration: .init(services: [DrainService(Drain()).configuration], logger: Logger(label: "test")))
    async let run: Void = group.run()
    await group.triggerGracefulShutdown()
    try await run
  }
}

private final class Calls: Sendable {
  private let numbers = Mutex<[Int]>([])
  var all: [Int] { numbers.withLock { $0 } }
  func add(_ number: Int) { numbers.withLock { $0.append(number) } }
}

/// Runs until the graceful shutdown.
private final class Waiter: Service {
  let isShutDown = Atomic(false)
  private let start: @Sendable () -> Void

  init(start: @escaping @Sendable () -> Void) { self.start = start }

  func run() async throws {
    start()
    try await gracefulShutdown()
    isShutDown.store(true, ordering: .relaxed)
  }
}
