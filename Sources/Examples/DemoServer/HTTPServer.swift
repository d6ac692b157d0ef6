import CrashShieldSockets
import NIOCore
import NIOHTTP1
import NIOPosix

/// HTTP/1.1 over SwiftNIO, with one task per connection and one response per request.
struct HTTPServer {
  /// A function that responds to a request.
  typealias Respond = @Sendable (Request) async -> Response

  struct Request: Sendable {
    var method: String
    var path: String
  }

  struct Response: Sendable {
    var status: HTTPResponseStatus
    var body: String

    static func ok(_ body: String) -> Response { Response(status: .ok, body: body) }
    static func notFound(_ body: String) -> Response { Response(status: .notFound, body: body) }
  }

  private typealias Connection = NIOAsyncChannel<HTTPServerRequestPart, HTTPServerResponsePart>

  /// The port.
  ///
  /// If port 0 was requested, this is the port that the kernel chose.
  let port: Int
  private let listener: NIOAsyncChannel<Connection, Never>
  private let respond: Respond

  /// Listens on the socket that a supervisor passed, or on the address if no supervisor did.
  static func bind(host: String, port: Int, to respond: @escaping Respond) async throws -> HTTPServer {
    let bootstrap = ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
    let initialize = { @Sendable (channel: any Channel) in
      channel.eventLoop.makeCompletedFuture {
        try channel.pipeline.syncOperations.configureHTTPServerPipeline()
        return try Connection(wrappingChannelSynchronously: channel)
      }
    }
    let listener =
      if let socket = InheritedSocket.all().first {
        try await bootstrap.bind(socket.descriptor, childChannelInitializer: initialize)
      } else {
        try await bootstrap.bind(host: host, port: port, childChannelInitializer: initialize)
      }
    return HTTPServer(port: listener.channel.localAddress?.port ?? port, listener: listener, respond: respond)
  }

  /// Serves requests until the task is cancelled.
  func run() async throws {
    try await listener.executeThenClose { connections in
      await withDiscardingTaskGroup { group in
        do {
          for try await connection in connections {
            group.addTask { await serve(connection) }
          }
        } catch is CancellationError {
          // The server stops.
        } catch {
          print("no more connections: \(error)")
        }
      }
    }
  }

  private func serve(_ connection: Connection) async {
    do {
      try await connection.executeThenClose { requests, responses in
        for try await part in requests {
          guard case .head(let head) = part else { continue }
          let response = await respond(Request(method: head.method.rawValue, path: head.uri))
          try await write(response, to: head, on: responses)
          if !head.isKeepAlive { return }
        }
      }
    } catch {
      // Ignore the error: the client disconnected, which ends only this connection.
    }
  }

  private func write(
    _ response: Response, to request: HTTPRequestHead,
    on writer: NIOAsyncChannelOutboundWriter<HTTPServerResponsePart>
  ) async throws {
    let body = ByteBuffer(string: response.body + "\n")
    let headers: HTTPHeaders = [
      "Content-Type": "text/plain; charset=utf-8", "Content-Length": "\(body.readableBytes)",
    ]
    let head = HTTPResponseHead(version: request.version, status: response.status, headers: headers)
    try await writer.write(contentsOf: [.head(head), .body(.byteBuffer(body)), .end(nil)])
  }
}
