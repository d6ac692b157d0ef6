internal import CrashShield
internal import CrashShieldServer
internal import HTTPTypes
public import Hummingbird
internal import Logging
internal import NIOCore

/// A responder that runs each request of another responder as a contained request.
///
/// ```swift
/// let server = Application(responder: ContainedResponder(router: router), configuration: configuration)
/// ```
///
/// If a request traps, the responder answers with the status 500 and closes the connection. The other requests
/// continue. The report of a crash names the route, the ID and the trace of the request. If containment is off, the
/// responder only registers each request, so that reports name it, and a trap ends the process.
///
/// Use this responder instead of a middleware. After a trap, abandoned work of the request can still run, and must not
/// use memory of its caller. The closure `next` of a middleware is in such memory, so a middleware cannot contain a
/// request.
///
/// If the length of a response body is unknown, Hummingbird produces the body while it writes the response. The
/// responder contains the production of such a body as a separate request with the tag `part: body`. If the production
/// traps, the server closes the connection. The production of a body of known length is not contained.
public struct ContainedResponder<Responder: HTTPResponder>: HTTPResponder where Responder.Context: RequestContext {
  /// The request context.
  public typealias Context = Responder.Context

  private let responder: Responder
  private let closesConnections: Bool
  private let operation: @Sendable (Request, Context) async -> String

  /// Creates a responder that names each request by a closure.
  ///
  /// - Parameters:
  ///   - responder: Answers the requests.
  ///   - closesConnections: Whether responses have the header `Connection: close` after a trap and while the process
  ///     drains. Pass false for a server with HTTP/2, which forbids this header.
  ///   - operation: Returns what a request does, such as its method and route. Do not include the path: reports are
  ///     filtered by this name, and a path can contain personal data.
  public init(
    _ responder: Responder, closesConnections: Bool = true,
    operation: @escaping @Sendable (Request, Context) async -> String
  ) {
    self.responder = responder
    self.closesConnections = closesConnections
    self.operation = operation
  }

  /// Creates a responder that names each request by its method and its route.
  ///
  /// The responder must know the route before the router handles the request, and Hummingbird's router has no function
  /// that only finds a route. Therefore this initializer creates a second router with the same routes, and the
  /// responder routes each request twice. Add all routes to the router before this call.
  ///
  /// - Parameters:
  ///   - router: The router of the server.
  ///   - options: The options of the router.
  ///   - closesConnections: Whether responses have the header `Connection: close` after a trap and while the process
  ///     drains. Pass false for a server with HTTP/2, which forbids this header.
  public init<RouterContext: RequestContext>(
    router: Router<RouterContext>, options: RouterOptions = [], closesConnections: Bool = true
  ) where Responder == RouterResponder<RouterContext> {
    let responder = router.buildResponder()
    let routes = RouteFinder(router, options: options)
    self.init(responder, closesConnections: closesConnections) { request, context in
      "\(request.method) \(await routes.route(of: request, context) ?? "unknown")"
    }
  }

  /// Answers a request.
  ///
  /// - Throws: The error of the inner responder, unless the request trapped.
  public func respond(to request: Request, context: Context) async throws -> Response {
    let operation = await operation(request, context)
    let id = context.logger[metadataKey: "hb.request.id"]?.description
    let parent = TraceParent(of: request)
    do {
      var response = try await Shield.withContainedRequest(
        operation, id: id, traceID: parent?.traceID, spanID: parent?.spanID
      ) { [responder] in try await responder.respond(to: request, context: context) }
      if closesConnections && Shield.isDraining { response.headers[.connection] = "close" }
      if response.body.contentLength == nil {
        response.body = Self.contained(response.body, operation: operation, id: id, parent: parent)
      }
      return response
    } catch let fault as ShieldFault {
      guard let text = fault.responseText else { throw fault }
      return failure("\(text)\n", to: request)
    }
  }

  /// Returns a response of status 500 that closes the connection.
  ///
  /// After a trap, a child task of the abandoned work can still read the body of the request. After a response without
  /// an error, Hummingbird itself reads the rest of the body, and two readers of one body would trap. Therefore this
  /// response ends with an error, after which Hummingbird closes the connection without reading from it.
  private func failure(_ text: String, to request: Request) -> Response {
    let text = ByteBuffer(string: text)
    let hasBody = request.method != .head
    let body = ResponseBody(contentLength: text.readableBytes) { writer in
      if hasBody { try await writer.write(text) }
      try await writer.finish(nil)
      throw ConnectionClosed.afterTrap
    }
    var response = Response(status: .internalServerError, body: body)
    response.headers[.contentType] = "text/plain; charset=utf-8"
    if closesConnections { response.headers[.connection] = "close" }
    return response
  }

  private static func contained(
    _ body: ResponseBody, operation: String, id: String?, parent: TraceParent?
  ) -> ResponseBody {
    ResponseBody { writer in
      // Invariant: only the contained work uses the writer while it runs. If this closure throws an error, its caller
      // does not use the writer again.
      nonisolated(unsafe) let writer = writer
      try await Shield.withContainedRequest(
        operation, id: id, traceID: parent?.traceID, spanID: parent?.spanID, tags: ["part": "body"]
      ) { unsafe try await body.write(writer) }
    }
  }
}

extension TraceParent {
  private static let header = HTTPField.Name(headerName)

  init?(of request: Request) {
    guard let name = Self.header else { return nil }
    self.init(onlyOf: request.headers[values: name])
  }
}
