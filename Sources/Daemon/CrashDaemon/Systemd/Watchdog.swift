import Glibc
import LinuxSystem
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization

/// systemd's watchdog (sd_watchdog_enabled(3)).
///
/// It notifies systemd only after each of crashd's loops has completed an iteration since the last notification.
///
/// The watchdog waits for no loop and runs on a dedicated thread. It can therefore still log which loop hangs.
final class Watchdog: Service {
  /// A watched loop.
  struct Loop: Sendable {
    var heartbeat: Heartbeat
    /// Makes an idle loop run an iteration.
    var nudge: @Sendable () -> Void
  }

  /// The request in systemd's environment variables.
  struct Request: Equatable {
    var limit_us: UInt64

    /// The check interval while all loops make progress.
    var period_ms: Int32 { Int32(clamping: max(1, limit_us / 4_000)) }
    /// The check interval while a loop is late.
    ///
    /// It is short, so that systemd is notified soon after the loop makes progress again.
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
  /// Opened at the start, because a crashd that later runs out of descriptors is still healthy.
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
    // During a stop, loops end one after the other. `TimeoutStopSec=` limits how long that takes.
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
      // After an error or an interrupted wait, the loop makes one extra check, which is harmless.
      _ = try? poller.wait(timeout_ms: wait_ms)
      if hasEnded.load(ordering: .relaxed) { return }
      // If a notification did not fit into systemd's queue, it is repeated at the next check.
      if book.look() || isStopping.load(ordering: .relaxed), systemd.send("WATCHDOG=1") {
        book.begin()
        (told_ns, isLogged, wait_ms) = (Moment.monotonic_ns(), false, request.period_ms)
        continue
      }
      wait_ms = request.lateStep_ms
      // Logs once when half of the time-out has passed.
      if !isLogged, (Moment.monotonic_ns() - told_ns) / 500 >= request.limit_us {
        isLogged = true
        let late = book.late
        let what = late.isEmpty ? "systemd does not listen" : "does not move: \(late.joined(separator: ", "))"
        logger.critical("\(what); systemd ends crashd in \(request.limit_us / 2_000) ms unless that changes")
      }
    }
  }
}

/// The watched loops of crashd.
///
/// Other work is limited by `Limits`.
struct LoopPulses {
  /// The thread that serves the attach socket and the spool.
  let attach = Heartbeat("attach")
  /// The loop that handles the events of the attach thread.
  let pipeline = Heartbeat("pipeline")
  /// The loop of the store keeper.
  ///
  /// It rests most of the time. While it works, it beats once per report.
  let store = Heartbeat("store")

  func loops(attach server: AttachServer, events: AsyncStream<PipelineEvent>.Continuation) -> [Watchdog.Loop] {
    var loops = [
      Watchdog.Loop(heartbeat: attach) { server.nudge() },
      // This loop runs in Swift's thread pool like all services, so its heartbeat also covers the pool.
      Watchdog.Loop(heartbeat: pipeline) { events.yield(.asked) },
      Watchdog.Loop(heartbeat: store) {},
    ]
    // The event loops that serve clients and collectors.
    for (number, loop) in MultiThreadedEventLoopGroup.singleton.makeIterator().enumerated() {
      let heartbeat = Heartbeat("clients \(number)")
      loops.append(Watchdog.Loop(heartbeat: heartbeat) { loop.execute { heartbeat.beat() } })
    }
    return loops
  }
}
