import Glibc
import LinuxSystem
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization

/// systemd's watchdog (sd_watchdog_enabled(3)): notifies systemd only after each of crashd's loops has made a turn
/// since the last notification.
///
/// It waits for no loop, and runs on a thread of its own, so that it can still log which loop hangs.
final class Watchdog: Service {
  /// A watched loop.
  struct Loop: Sendable {
    var heartbeat: Heartbeat
    /// Makes an idle loop take a turn.
    var nudge: @Sendable () -> Void
  }

  /// systemd's request.
  struct Request: Equatable {
    var limit_us: UInt64

    /// The check interval while all loops move.
    var period_ms: Int32 { Int32(clamping: max(1, limit_us / 4_000)) }
    /// The check interval while a loop is late: when it moves at last, systemd is notified at once.
    var lateStep_ms: Int32 { Int32(clamping: max(1, limit_us / 32_000)) }

    init(limit_us: UInt64) { self.limit_us = limit_us }

    /// Nil: systemd requests nothing, or addresses another process.
    init?(environment: [String: String], pid: Int32) {
      guard let limit = environment["WATCHDOG_USEC"].flatMap({ UInt64($0) }), limit > 0, limit < .max else {
        return nil
      }
      if let other = environment["WATCHDOG_PID"], Int32(other) != pid { return nil }
      limit_us = limit
    }
  }

  private let request: Request
  /// Open from the start: a crashd without a free descriptor is still healthy.
  private let systemd: DatagramSocket
  private let loops: [Loop]
  private let logger: Logger
  private let poller: Poller
  private let isStopping = Atomic<Bool>(false)
  private let hasEnded = Atomic<Bool>(false)

  init(_ request: Request, systemd: DatagramSocket, loops: [Loop], logger: Logger) throws(SystemError) {
    self.request = request
    self.systemd = systemd
    self.loops = loops
    self.logger = logger
    poller = try Poller()
  }

  func run() async throws {
    try Thread.start(named: "watchdog") { [self] in watch() }
    try await gracefulShutdown()
    // Loops end now, one after the other; `TimeoutStopSec=` limits how long that takes.
    isStopping.store(true, ordering: .relaxed)
    poller.wake()
  }

  /// Ends all notifications.
  func end() {
    hasEnded.store(true, ordering: .relaxed)
    poller.wake()
  }

  private func watch() {
    var book = HeartbeatBook(loops.map(\.heartbeat))
    var told_ns = Moment.monotonic_ns()
    var isLogged = false
    var wait_ms = request.period_ms
    while true {
      for loop in loops { loop.heartbeat.ask(loop.nudge) }
      // After an error or an interrupted wait it checks once more than necessary, which is harmless.
      _ = try? poller.wait(timeout_ms: wait_ms)
      if hasEnded.load(ordering: .relaxed) { return }
      // A notification that did not fit into systemd's queue is repeated at the next check.
      if book.look() || isStopping.load(ordering: .relaxed), systemd.send("WATCHDOG=1") {
        book.begin()
        (told_ns, isLogged, wait_ms) = (Moment.monotonic_ns(), false, request.period_ms)
        continue
      }
      wait_ms = request.lateStep_ms
      // Half of the time-out has passed.
      if !isLogged, (Moment.monotonic_ns() - told_ns) / 500 >= request.limit_us {
        isLogged = true
        let late = book.late
        let what = late.isEmpty ? "systemd does not listen" : "does not move: \(late.joined(separator: ", "))"
        logger.critical("\(what); systemd ends crashd unless it does within \(request.limit_us / 2_000) ms")
      }
    }
  }
}

/// The watched loops of crashd; other work has limits of its own (`Limits`).
struct LoopPulses {
  /// The thread of the attach socket and the spool.
  let attach = Heartbeat("attach")
  /// Handles the events of that thread.
  let pipeline = Heartbeat("pipeline")
  /// The keeper of the store.
  ///
  /// It rests most of the time; while it works, it beats with each report.
  let store = Heartbeat("store")

  func loops(attach server: AttachServer, events: AsyncStream<PipelineEvent>.Continuation) -> [Watchdog.Loop] {
    var loops = [
      Watchdog.Loop(heartbeat: attach) { server.nudge() },
      // It runs in Swift's pool, as all services do, so it covers that pool too.
      Watchdog.Loop(heartbeat: pipeline) { events.yield(.asked) },
      Watchdog.Loop(heartbeat: store) {},
    ]
    // Clients and collectors.
    for (number, loop) in MultiThreadedEventLoopGroup.singleton.makeIterator().enumerated() {
      let heartbeat = Heartbeat("clients \(number)")
      loops.append(Watchdog.Loop(heartbeat: heartbeat) { loop.execute { heartbeat.beat() } })
    }
    return loops
  }
}
