import CrashShield
import CrashShieldDrainService
import CrashShieldHummingbird
import CrashShieldServer
import CrashShieldSockets
import Glibc
import Hummingbird
import LoadWork
import Logging
import NIOCore
import ServiceLifecycle

/// Prints its port, and serves requests until a signal ends it.
///
/// Usage: `web-server off|drain|drain-pool|contain:N`. The server uses the listening socket of a supervisor if there is
/// one, or binds a free port.
@main
enum WebServer {
  static func main() async throws {
    guard let containment = Work.containment(CommandLine.arguments.dropFirst().first ?? "off") else { exit(64) }
    let drain = Drain()
    var configuration = Shield.Configuration()
    configuration.containment = containment
    configuration.onDrain = drain.begin
    try Shield.startOrThrow(configuration)

    var logger = Logger(label: "server")
    logger.logLevel = .critical
    let router = Router()
    for path in ["/:name", "/trap/:name"] {
      router.get(RouterPath(path)) { request, _ in try await Work.answer(request.uri.path) }
    }
    let responder = ContainedResponder(router: router)
    let sockets = InheritedSocket.all()
    let server: any Service =
      sockets.isEmpty
      ? Application(
        responder: responder, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
        onServerRunning: { printPort(of: $0) }, logger: logger)
      : InheritedServer(
        sockets, responder: responder, drain: drain, onServerRunning: { $0.forEach(printPort(of:)) }, logger: logger)
    // A server on an inherited socket stops accepting by itself.
    let services = [.init(service: server)] + (sockets.isEmpty ? [DrainService(drain).configuration] : [])
    try await ServiceGroup(configuration: .init(services: services, logger: logger)).run()
  }

  private static func printPort(of channel: any Channel) {
    print(channel.localAddress?.port ?? 0)
    fflush(nil)
  }
}
