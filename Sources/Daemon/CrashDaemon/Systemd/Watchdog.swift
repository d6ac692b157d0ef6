import Glibc
import LinuxSystem
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization

/// Sends notifications to systemd's watchdog (sd_watchdog_enabled(3)).
///
/// The watchdog sends a notification only after each loop of crashd has completed an iteration since the previous
/// notification.
///
/// The watchdog runs on a dedicated thread and does not wait for any loop. Therefore, the watchdog can log which loop
/// hangs.
final class Watchdog: Service {
  /// A loop that the watchdog checks.
  struct Loop: Sendable {
    var heartbeat: Heartbeat
    /// Wakes the loop, so that it runs an iteration even if it is idle.
    var nudge: @Sendable () -> Void
  }

  /// The watchdog settings that systemd passes in environment variables.
  struct Request: Equatable {
    var limit_us: UInt64

    /// The interval at which the watchdog checks the loops while every loop makes progress.
    var period_ms: Int32 { Int32(clamping: max(1, limit_us / 4_000)) }
    /// The interval at which the watchdog checks the loops while a loop is late.
    ///
    /// This interval is shorter than `period_ms`, so that systemd is notified soon after the loop makes progress again.
    var lateStep_ms: Int32 { Int32(clamping: max(1, limit_us / 32_000)) }

    init(limit_us: UInt64) { self.limit_us = limit_us }

    /// Returns nil if systemd requests no notifications, or requests them from another process.
    init?(environment: [String: String], pid: Int32) {
      guard let limit = environment["WATCHDOG_USEC"].flatMap({ UInt64($0) }), limit > 0, limit < .max else {
        return nil
      }
      if let other = environment["WATCHDOG_PID"], Int32(other) != pid { return nil }
      limit_us = limit
    }
  }

  private let request: Request
  /// The socket to systemd.
  ///
  /// The socket is opened at the start, because crashd could run out of descriptors later and must still notify
  /// systemd.
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
    // While crashd stops, its loops end one after another, so the watchdog ignores late loops. `TimeoutStopSec=` limits
    // the time of the stop.
    isStopping.store(true, ordering: .relaxed)
    poller.wake()
  }

  /// Ends the watchdog thread, and therefore also the notifications.
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
      // If the wait fails or is interrupted, the only effect is that the loops are checked once more.
      _ = try? poller.wait(timeout_ms: wait_ms)
      if hasEnded.load(ordering: .relaxed) { return }
      // If systemd's queue was full, the notification is sent again after the next check.
      if book.look() || isStopping.load(ordering: .relaxed), systemd.send("WATCHDOG=1") {
        book.begin()
        (told_ns, isLogged, wait_ms) = (Moment.monotonic_ns(), false, request.period_ms)
        continue
      }
      wait_ms = request.lateStep_ms
      // Log the late loops once, after half of the watchdog time-out has passed.
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
/// All other work in crashd has time limits in `Limits`.
struct LoopPulses {
  /// The loop of the attach thread, which serves the attach socket and watches the spool directory.
  let attach = Heartbeat("attach")
  /// The loop that handles the events of the attach thread.
  let pipeline = Heartbeat("pipeline")
  /// The loop of the store keeper, which waits for work most of the time.
  ///
  /// While the store keeper works, the loop beats once for each report.
  let store = Heartbeat("store")

  func loops(attach server: AttachServer, events: AsyncStream<PipelineEvent>.Continuation) -> [Watchdog.Loop] {
    var loops = [
      Watchdog.Loop(heartbeat: attach) { server.nudge() },
      // Like all services, the pipeline runs in Swift's thread pool. Therefore, the pipeline's heartbeat also detects
      // that the whole pool is blocked.
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
