import CrashShield
import CrashShieldDrainService
import CrashShieldHummingbird
import CrashShieldServer
import CrashShieldSockets
import ExampleKit
import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle
import UnixSignals

/// A Hummingbird server that listens on an inherited socket, or on a loopback port that the kernel chooses, and prints
/// the port.
@main struct HummingbirdServer {
  static func main() async throws {
    let drain = Drain()
    var configuration = Shield.Configuration(name: "hummingbird-server")
    configuration.onDrain = drain.begin
    try Shield.startOrThrow(configuration)
    drain.onBegin { writeLine("draining") }

    var logger = Logger(label: "server")
    logger.logLevel = .error
    let responder = ContainedResponder(router: router())
    let sockets = InheritedSocket.all()
    let server: any Service =
      sockets.isEmpty
      ? Application(
        responder: responder, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
        onServerRunning: { writePort(of: $0) }, logger: logger)
      : InheritedServer(
        sockets, responder: responder, drain: drain, onServerRunning: { $0.forEach(writePort(of:)) }, logger: logger)
    // `InheritedServer` stops accepting connections when the drain begins, and serves its connections until the process
    // ends. It needs no `DrainService`.
    let services = [.init(service: server)] + (sockets.isEmpty ? [DrainService(drain).configuration] : [])
    let group = ServiceGroup(
      configuration: .init(services: services, gracefulShutdownSignals: [.sigterm], logger: logger))
    try await group.run()
  }

  static func router() -> Router<BasicRequestContext> {
    let router = Router()
    let orders = Orders()
    router.get("/") { _, _ in "well\n" }
    // The response waits for a line on standard input.
    router.get("/orders/:id") { _, context -> String in
      await orders.wait(for: try context.parameters.require("id"))
      return "order\n"
    }
    router.get("/articles/:index") { _, context -> String in
      article(try context.parameters.require("index", as: Int.self))
    }
    // The handler traps while a child task reads the body of the request.
    router.post("/uploads") { request, _ -> String in
      let (parts, part) = AsyncStream.makeStream(of: Void.self)
      async let end: Void = {
        for try await _ in request.body { part.yield() }
        part.finish()
      }()
      for await _ in parts { writeLine(article(9)) }
      try await end
      return "empty\n"
    }
    router.post("/echoes") { request, _ in Response(status: .ok, body: ResponseBody(asyncSequence: request.body)) }
    router.get("/streams/:count") { _, context -> Response in
      let count = try context.parameters.require("count", as: Int.self)
      return Response(
        status: .ok,
        body: ResponseBody { writer in
          for index in 0..<count { try await writer.write(ByteBuffer(string: article(index))) }
          try await writer.finish(nil)
        })
    }
    return router
  }

  static func writePort(of channel: any Channel) { writeLine("port \(channel.localAddress?.port ?? 0)") }
}
