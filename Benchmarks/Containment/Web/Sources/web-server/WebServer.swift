import CrashShield
import CrashShieldDrainService
import CrashShieldHummingbird
import CrashShieldServer
import CrashShieldSockets
import Glibc
import Hummingbird
import HummingbirdCore
import HummingbirdHTTP2
import LoadWork
import Logging
import NIOCore
import NIOSSL
import ServiceLifecycle

/// Prints its port, and serves requests until a signal ends it.
///
/// Usage: `web-server off|drain|drain-pool|contain:N [CERTIFICATE KEY]`. The server takes over the listening socket
/// that its supervisor passed, or else binds a free port. If the command line names a certificate, the server binds a
/// port, and speaks HTTP/2 over TLS.
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
    let files = CommandLine.arguments.dropFirst(2)
    // With a certificate, the protocol is HTTP/2, which forbids the header `Connection`.
    let responder = ContainedResponder(router: router, closesConnections: files.isEmpty)
    let sockets = InheritedSocket.all()
    let server: any Service =
      sockets.isEmpty
      ? Application(
        responder: responder, server: try protocols(Array(files)),
        configuration: .init(address: .hostname("127.0.0.1", port: 0)), onServerRunning: { printPort(of: $0) },
        logger: logger)
      : InheritedServer(
        sockets, responder: responder, drain: drain, onServerRunning: { $0.forEach(printPort(of:)) }, logger: logger)
    // `InheritedServer` needs no `DrainService`: it stops accepting connections when the drain begins.
    let services = [.init(service: server)] + (sockets.isEmpty ? [DrainService(drain).configuration] : [])
    try await ServiceGroup(configuration: .init(services: services, logger: logger)).run()
  }

  /// Returns HTTP/2 over TLS if `files` names a certificate and its key, or else HTTP/1.
  private static func protocols(_ files: [String]) throws -> HTTPServerBuilder {
    guard files.count == 2 else { return .http1() }
    let tls = TLSConfiguration.makeServerConfiguration(
      certificateChain: try NIOSSLCertificate.fromPEMFile(files[0]).map { .certificate($0) },
      privateKey: .privateKey(try NIOSSLPrivateKey(file: files[1], format: .pem)))
    return HTTPServerBuilder { responder in
      FlushedChannel(try HTTP2UpgradeChannel(tlsConfiguration: tls, responder: responder))
    }
  }

  private static func printPort(of channel: any Channel) {
    print(channel.localAddress?.port ?? 0)
    fflush(nil)
  }
}
