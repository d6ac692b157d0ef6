import NIOCore
import NIOPosix

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
