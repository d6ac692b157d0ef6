public import CrashShieldServer
public import CrashShieldSockets
internal import HTTPTypes
public import Hummingbird
public import HummingbirdCore
public import Logging
public import NIOCore
internal import NIOExtras
internal import NIOHTTP1
public import NIOPosix
public import ServiceLifecycle

/// A Hummingbird server on listening sockets that a supervisor passed, such as systemd or `crashctl serve`.
///
/// ```swift
/// let sockets = InheritedSocket.all()
/// let responder = ContainedResponder(router: router)
/// let server: any Service =
///   sockets.isEmpty
///   ? Application(responder: responder, configuration: configuration, logger: logger)
///   : InheritedServer(sockets, responder: responder, drain: drain, logger: logger)
/// ```
///
/// `Application` can listen only on an address, not on an inherited socket. `InheritedServer` answers HTTP/1 requests
/// in the same way as `Application`. It takes ownership of the descriptors in `sockets`.
///
/// When the drain begins, the server stops accepting connections from its listening sockets. New connections wait in
/// the queues of the sockets for the next process. The server serves accepted connections until the process ends. After
/// a response with the header `Connection: close`, the server closes the connection, even if the client ignores this
/// header.
///
/// The server does not call `shutdown` on a socket, because the socket also belongs to the supervisor. At a graceful
/// shutdown, the server closes its descriptors and idle connections.
public struct InheritedServer<Responder: HTTPResponder>: Service
where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
  private let sockets: [InheritedSocket]
  private let answers: RequestAnswers<Responder>
  private let http1: HTTP1Channel.Configuration
  private let drain: Drain?
  private let loops: any EventLoopGroup
  private let onServerRunning: @Sendable ([any Channel]) async -> Void

  /// Creates the server.
  ///
  /// - Parameters:
  ///   - sockets: The listening sockets.
  ///   - responder: Answers the requests.
  ///   - http1: The configuration of HTTP/1.
  ///   - serverName: The value of the header `Server`, or nil to send none.
  ///   - drain: The drain of the program. The server stops accepting connections when this drain begins.
  ///   - eventLoopGroup: The event loops that run the connections.
  ///   - onServerRunning: The server calls this closure with the listening channels when the server listens on all
  ///     sockets.
  ///   - logger: The logger of the server.
  public init(
    _ sockets: [InheritedSocket], responder: Responder, http1: HTTP1Channel.Configuration = .init(),
    serverName: String? = nil, drain: Drain? = nil,
    eventLoopGroup: any EventLoopGroup = MultiThreadedEventLoopGroup.singleton,
    onServerRunning: @escaping @Sendable ([any Channel]) async -> Void = { _ in }, logger: Logger
  ) {
    self.sockets = sockets
    self.answers = RequestAnswers(responder: responder, serverName: serverName, logger: logger)
    self.http1 = http1
    self.drain = drain
    self.loops = eventLoopGroup
    self.onServerRunning = onServerRunning
  }

  /// Serves connections until the graceful shutdown of the service group.
  ///
  /// - Throws: The error of a socket on which the server cannot listen.
  public func run() async throws {
    let answers = answers
    let child = HTTP1Channel(
      responder: { request, writer, channel in try await answers.answer(request, writer, channel) },
      configuration: http1)
    let servers = try await listen(child)
    let channels = servers.map(\.server.channel)
    drain?.onBegin {
      for channel in channels { _ = channel.setOption(.autoRead, value: false) }
    }
    try await withGracefulShutdownHandler {
      await onServerRunning(channels)
      try await withThrowingDiscardingTaskGroup { group in
        for (server, _) in servers {
          group.addTask { try await serve(server, child) }
        }
      }
    } onGracefulShutdown: {
      for (_, quiescing) in servers { quiescing.initiateShutdown(promise: nil) }
    }
  }

  private typealias Server = NIOAsyncChannel<HTTP1Channel.Value, Never>

  private func listen(_ child: HTTP1Channel) async throws -> [(server: Server, quiescing: ServerQuiescingHelper)] {
    let logger = answers.logger
    var servers: [(Server, ServerQuiescingHelper)] = []
    for socket in sockets {
      let quiescing = ServerQuiescingHelper(group: loops)
      let bootstrap = ServerBootstrap(group: loops)
        .serverChannelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(quiescing.makeServerChannelHandler(channel: channel))
          }
        }
        .childChannelOption(.allowRemoteHalfClosure, value: true)
      servers.append(
        (try await bootstrap.bind(socket.descriptor) { child.setup(channel: $0, logger: logger) }, quiescing))
    }
    return servers
  }

  private func serve(_ server: Server, _ child: HTTP1Channel) async throws {
    let logger = answers.logger
    try await withThrowingDiscardingTaskGroup { group in
      try await server.executeThenClose { connections in
        for try await connection in connections {
          group.addTask { await child.handle(value: connection, logger: logger) }
        }
      }
    }
  }
}

/// Responds to single requests as `Application` does.
private struct RequestAnswers<Responder: HTTPResponder>: Sendable
where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
  let responder: Responder
  let serverName: String?
  let logger: Logger

  func answer(_ request: Request, _ writer: consuming ResponseWriter, _ channel: any Channel) async throws {
    var logger = logger
    logger[metadataKey: "hb.request.id"] = .stringConvertible(RequestID())
    let context = Responder.Context(source: ApplicationRequestContextSource(channel: channel, logger: logger))
    var response: Response
    do {
      response = try await responder.respond(to: request, context: context)
    } catch let error as HTTPParserError {
      throw error
    } catch {
      logger.debug("The responder failed", metadata: ["error.type": "\(error)"])
      response = Response(status: .internalServerError)
    }
    response.headers[.date] = HTTPDate.now
    if let serverName { response.headers[.server] = serverName }
    do {
      try await writer.write(response: response.head, body: response.body)
    } catch is HTTPParserError {
      // After an HTTPParserError, Hummingbird would write a response of status 400, although it has already begun this
      // response.
      throw ConnectionClosed.byInvalidRequest
    }
    if response.headers[.connection] == "close" {
      // Closing the output sends the whole response first. Throwing without this close would discard the unsent bytes.
      try await channel.close(mode: .output)
      throw ConnectionClosed.asAnnounced
    }
  }
}
