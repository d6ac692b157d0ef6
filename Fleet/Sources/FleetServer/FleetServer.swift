public import FleetStore
import Hummingbird
import HummingbirdCore
import HummingbirdTLS
public import Logging

/// The HTTP server of crash-fleet.
public struct FleetServer: Sendable {
  /// Where the server listens.
  public struct Listener: Sendable, Equatable {
    /// The address.
    public var host: String
    /// The port; 0 lets the kernel choose.
    public var port: Int
    /// The certificates and the key; nil serves without TLS.
    public var tls: FleetTLS?

    /// Creates a listener without TLS.
    public init(host: String, port: Int) { (self.host, self.port) = (host, port) }
  }

  private let (store, listener, limits, log): (FleetStore, Listener, FleetLimits, Logger)

  /// Creates a server.
  public init(_ store: FleetStore, on listener: Listener, limits: FleetLimits = FleetLimits(), log: Logger) {
    (self.store, self.listener, self.limits, self.log) = (store, listener, limits, log)
  }

  /// Serves until SIGTERM or SIGINT arrives, or until the task is canceled.
  ///
  /// - Throws: The reason why the server cannot listen, or `FleetTLS.Problem`.
  public func run(onListening: @escaping @Sendable (_ port: Int) async -> Void) async throws {
    let service = FleetService(store, limits, readsCertificates: listener.tls?.clientCA != nil, log: log)
    let application = Application(
      router: service.router(), server: try transport(),
      configuration: .init(
        address: .hostname(listener.host, port: listener.port), serverName: nil,
        availableConnectionsDelegate: MaximumAvailableConnections(limits.connections)),
      services: [
        MaintenanceService(store: store, outage: service.outage, log: log),
        KeyService(store: store, outage: service.outage, metrics: service.metrics, log: log), service.changes,
      ],
      onServerRunning: { await onListening($0.localAddress?.port ?? 0) }, logger: quiet)
    try await application.runService()
  }

  /// The logger for the frameworks, from the level `warning` on.
  private var quiet: Logger {
    var logger = log
    logger.logLevel = max(log.logLevel, .warning)
    return logger
  }

  private func transport() throws -> HTTPServerBuilder {
    let (request_s, answer_s, idle_s) = (Int64(limits.request_s), Int64(limits.answer_s), Int64(limits.idle_s))
    let http = HTTPServerBuilder.http1(
      configuration: .init(
        additionalChannelHandlers: [
          DeadlineHandler(.init(request: .seconds(request_s), answer: .seconds(answer_s), idle: .seconds(idle_s)))
        ],
        httpDecoderConfiguration: .init(maxHeaderFieldSize: 8_192, maxHeaderListSize: 16_384, maxHeaderFieldCount: 64)))
    guard let tls = listener.tls else { return http }
    return try .tls(http, tlsConfiguration: tls.configuration())
  }
}
