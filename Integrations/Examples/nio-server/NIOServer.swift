import CrashShield
import CrashShieldNIO
import CrashShieldServer
import CrashShieldSockets
import ExampleKit
import NIOCore
import NIOHTTP1
import NIOPosix

/// A NIO server that listens on an inherited socket, or on a loopback port that the kernel chooses, and prints the
/// port.
@main struct NIOServer {
  static func main() async throws {
    let drain = Drain()
    var configuration = Shield.Configuration(name: "nio-server")
    configuration.onDrain = drain.begin
    try Shield.startOrThrow(configuration)

    let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.configureHTTPServerPipeline()
          try channel.pipeline.syncOperations.addHandler(
            ContainedHTTPHandler(operation: { "\($0.method) \(Route(of: $0.uri).pattern)" }) { head, _ in
              await answer(Route(of: head.uri))
            })
        }
      }
    let server =
      if let socket = InheritedSocket.all().first {
        try await bootstrap.withBoundSocket(socket.descriptor).get()
      } else {
        try await bootstrap.bind(host: "127.0.0.1", port: 0).get()
      }
    drain.onBegin { _ = server.setOption(.autoRead, value: false) }
    drain.onBegin { writeLine("draining") }
    writeLine("port \(server.localAddress?.port ?? 0)")
    try await server.closeFuture.get()
  }

  private static let orders = Orders()

  static func answer(_ route: Route) async -> HTTPAnswer {
    switch (route.name, route.argument) {
    case ("", nil): return HTTPAnswer("well\n")
    // The response waits for a line on standard input.
    case ("orders", let id?):
      await orders.wait(for: id)
      return HTTPAnswer("order\n")
    case ("articles", let index?): return HTTPAnswer(article(Int(index) ?? 0))
    default: return HTTPAnswer("There is no such page.\n", status: .notFound)
    }
  }
}

/// A path that consists of a name and at most one argument, such as `/orders/17`.
struct Route {
  let name: String
  let argument: String?

  init(of uri: String) {
    let path = uri.prefix { $0 != "?" }
    let parts = path.dropFirst().split(separator: "/", maxSplits: 1).map { String($0) }
    (name, argument) = (parts.first ?? "", parts.dropFirst().first)
  }

  var pattern: String { argument == nil ? "/\(name)" : "/\(name)/{argument}" }
}
