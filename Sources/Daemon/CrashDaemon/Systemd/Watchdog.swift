import Glibc
import LinuxSystem
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization

/// Notifies systemd's watchdog (sd_watchdog_enabled(3)).
///
/// A notification is sent only after each loop of crashd has completed an iteration since the last notification.
///
/// The watchdog runs on a dedicated thread and does not wait for any loop. It can therefore log which loop hangs.
final class Watchdog: Service {
  /// A loop that the watchdog checks.
  struct Loop: Sendable {
    var heartbeat: Heartbeat
    /// Makes the loop run an iteration even if it is idle.
    var nudge: @Sendable () -> Void
  }

  /// The watchdog settings in systemd's environment variables.
  struct Request: Equatable {
    var limit_us: UInt64

    /// The check interval while every loop makes progress.
    var period_ms: Int32 { Int32(clamping: max(1, limit_us / 4_000)) }
    /// The check interval while a loop is late.
    ///
    /// It is shorter, so that systemd is notified soon after the loop makes progress again.
    var lateStep_ms: Int32 { Int32(clamping: max(1, limit_us / 32_000)) }

    init(limit_us: UInt64) { self.limit_us = limit_us }

    /// Returns nil if systemd requests no watchdog, or if the request is for another process.
    init?(environment: [String: String], pid: Int32) {
      guard let limit = environment["WATCHDOG_USEC"].flatMap({ UInt64($0) }), limit > 0, limit < .max else {
        return nil
      }
      if let other = environment["WATCHDOG_PID"], Int32(other) != pid { return nil }
      limit_us = limit
    }
  }

  private let request: Request
  /// The socket is opened at the start, because crashd may run out of descriptors later and must still notify systemd.
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
    // While crashd stops, the loops end one after the other, so late loops are ignored. `TimeoutStopSec=` limits the
    // time of the stop.
    isStopping.store(true, ordering: .relaxed)
    poller.wake()
  }

  /// Ends the watchdog thread and its notifications.
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
      // If the wait fails or is interrupted, the loops are only checked once more.
      _ = try? poller.wait(timeout_ms: wait_ms)
      if hasEnded.load(ordering: .relaxed) { return }
      // If systemd's queue was full, the notification is repeated at the next check.
      if book.look() || isStopping.load(ordering: .relaxed), systemd.send("WATCHDOG=1") {
        book.begin()
        (told_ns, isLogged, wait_ms) = (Moment.monotonic_ns(), false, request.period_ms)
        continue
      }
      wait_ms = request.lateStep_ms
      // Logs the late loops once when half of the time-out has passed.
      if !isLogged, (Moment.monotonic_ns() - told_ns) / 500 >= request.limit_us {
        isLogged = true
        let late = book.late
        let what =
          late.isEmpty ? "systemd reads no notifications" : "loops without progress: \(late.joined(separator: ", "))"
        logger.critical("\(what); systemd ends crashd in \(request.limit_us / 2_000) ms unless that changes")
      }
    }
  }
}

/// The loops of crashd that the watchdog checks.
///
/// All other work has time limits in `Limits`.
struct LoopPulses {
  /// The thread that serves the attach socket and the spool.
  let attach = Heartbeat("attach")
  /// The loop that handles the events of the attach thread.
  let pipeline = Heartbeat("pipeline")
  /// The loop of the store keeper.
  ///
  /// It rests most of the time. While it works, it beats once for each report.
  let store = Heartbeat("store")

  func loops(attach server: AttachServer, events: AsyncStream<PipelineEvent>.Continuation) -> [Watchdog.Loop] {
    var loops = [
      Watchdog.Loop(heartbeat: attach) { server.nudge() },
      // Like all services, this loop runs in Swift's thread pool. Its heartbeat therefore also detects a blocked pool.
      Watchdog.Loop(heartbeat: pipeline) { events.yield(.asked) },
      Watchdog.Loop(heartbeat: store) {},
    ]
    // The NIO event loops that serve clients and collectors.
    for (number, loop) in MultiThreadedEventLoopGroup.singleton.makeIterator().enumerated() {
      let heartbeat = Heartbeat("clients \(number)")
      loops.append(Watchdog.Loop(heartbeat: heartbeat) { loop.execute { heartbeat.beat() } })
    }
    return loops
  }
}
