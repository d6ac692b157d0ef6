import CrashShield
import CrashShieldSockets
import Dispatch
import Glibc
import LoadWork
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// Prints its port, and serves requests until a signal ends it.
///
/// Usage: `load-server off|drain|drain-pool|contain:N`. The server uses the listening socket that its supervisor
/// passed, or else binds a free port.
@main
enum Main {
  /// The listening socket, and whether the server has inherited it from the supervisor; nil until it listens.
  private static let listener = Mutex<(channel: any Channel, isHeld: Bool)?>(nil)

  static func main() async throws {
    guard let containment = Work.containment(CommandLine.arguments.dropFirst().first ?? "off") else { exit(64) }
    var configuration = Shield.Configuration()
    configuration.containment = containment
    configuration.onDrain = { stopAccepting() }
    try Shield.startOrThrow(configuration)

    let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup(numberOfThreads: 2))
      .serverChannelOption(.backlog, value: 1024)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.configureHTTPServerPipeline()
          try channel.pipeline.syncOperations.addHandler(Handler())
        }
      }
    let inherited = InheritedSocket.all().first
    let channel =
      if let inherited {
        try await bootstrap.withBoundSocket(inherited.descriptor).get()
      } else {
        try await bootstrap.bind(host: "127.0.0.1", port: 0).get()
      }
    listener.withLock { $0 = (channel, inherited != nil) }
    // A drain (the end of the process after a trap) can have begun before `listener` was set. Then its callback has
    // found no listener, so this checks again.
    if Shield.isDraining { stopAccepting() }
    print(channel.localAddress?.port ?? 0)
    fflush(nil)
    // Waits forever: the end of the drain, or a signal, ends the process.
    while true { try await Task.sleep(for: .seconds(3_600)) }
  }

  /// Stops accepting connections.
  ///
  /// A socket that the supervisor passed stays open, and new connections wait in its queue for the next process.
  private static func stopAccepting() {
    guard let (channel, isHeld) = listener.withLock({ $0 }) else { return }
    if isHeld { channel.setOption(.autoRead, value: false).whenComplete { _ in } } else { channel.close(promise: nil) }
  }
}
