import Glibc
import LinuxSystem
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization

/// systemd's watchdog (sd_watchdog_enabled(3)): tells systemd that crashd is well as often as each of its loops has moved
/// since the last time, and not otherwise.
///
/// It waits for no loop, and runs on a thread of its own: so it can still say which one stands.
final class Watchdog: Service {
  /// A loop that it looks at.
  struct Loop: Sendable {
    var pulse: Pulse
    /// Has a loop that has nothing to do make a turn.
    var nudge: @Sendable () -> Void
  }

  /// What systemd asks for.
  struct Request: Equatable {
    var limit_us: UInt64

    /// It looks so often, while all is well.
    var period_ms: Int32 { Int32(clamping: max(1, limit_us / 4_000)) }
    /// And so often while a loop is late: when it moves at last, systemd is told at once.
    var lateStep_ms: Int32 { Int32(clamping: max(1, limit_us / 32_000)) }

    init(limit_us: UInt64) { self.limit_us = limit_us }

    /// nil: systemd asks for nothing, or asks another process.
    init?(environment: [String: String], pid: Int32) {
      guard let limit = environment["WATCHDOG_USEC"].flatMap({ UInt64($0) }), limit > 0, limit < .max else {
        return nil
      }
      if let other = environment["WATCHDOG_PID"], Int32(other) != pid { return nil }
      limit_us = limit
    }
  }

  private let request: Request
  /// Open from the start: also who has no descriptor left is well.
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
    // Loops end now, one after the other; that this takes no longer than it may is TimeoutStopSec='s.
    isStopping.store(true, ordering: .relaxed)
    poller.wake()
  }

  /// Nobody is told anything any more.
  func end() {
    hasEnded.store(true, ordering: .relaxed)
    poller.wake()
  }

  private func watch() {
    var book = PulseBook(loops.map(\.pulse))
    var told_ns = Moment.monotonic_ns()
    var isLogged = false
    var wait_ms = request.period_ms
    while true {
      for loop in loops { loop.pulse.ask(loop.nudge) }
      // An error or an interrupted wait is no reason to bark: it looks once more than it has to.
      _ = try? poller.wait(timeout_ms: wait_ms)
      if hasEnded.load(ordering: .relaxed) { return }
      // What was not sent, because systemd's queue is full, is sent the next time.
      if book.look() || isStopping.load(ordering: .relaxed), systemd.send("WATCHDOG=1") {
        book.begin()
        (told_ns, isLogged, wait_ms) = (Moment.monotonic_ns(), false, request.period_ms)
        continue
      }
      wait_ms = request.lateStep_ms
      // Half of the time is over.
      if !isLogged, (Moment.monotonic_ns() - told_ns) / 500 >= request.limit_us {
        isLogged = true
        let late = book.late
        let what = late.isEmpty ? "systemd does not listen" : "does not move: \(late.joined(separator: ", "))"
        logger.critical("\(what); systemd ends crashd unless it does within \(request.limit_us / 2_000) ms")
      }
    }
  }
}

/// The loops of crashd that the watchdog looks at; what runs besides has a limit of its own (`Limits`).
struct LoopPulses {
  /// The thread of the attach socket and the spool.
  let attach = Pulse("attach")
  /// Takes what that thread tells.
  let pipeline = Pulse("pipeline")
  /// The keeper of the store; it rests most of the time, and while it works it moves with each report.
  let store = Pulse("store")

  func loops(attach server: AttachServer, events: AsyncStream<PipelineEvent>.Continuation) -> [Watchdog.Loop] {
    var loops = [
      Watchdog.Loop(pulse: attach) { server.nudge() },
      // It runs in the pool of Swift's that all services run in, so it shows that this moves, too.
      Watchdog.Loop(pulse: pipeline) { events.yield(.asked) },
      Watchdog.Loop(pulse: store) {},
    ]
    // Clients and collectors.
    for (number, loop) in MultiThreadedEventLoopGroup.singleton.makeIterator().enumerated() {
      let pulse = Pulse("clients \(number)")
      loops.append(Watchdog.Loop(pulse: pulse) { loop.execute { pulse.beat() } })
    }
    return loops
  }
}
