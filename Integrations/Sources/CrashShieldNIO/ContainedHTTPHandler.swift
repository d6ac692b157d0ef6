internal import CrashShield
internal import CrashShieldServer
public import NIOCore
public import NIOHTTP1

/// An HTTP/1 handler that answers each request in a task, as a contained request.
///
/// ```swift
/// let bootstrap = ServerBootstrap(group: group).childChannelInitializer { channel in
///   channel.eventLoop.makeCompletedFuture {
///     try channel.pipeline.syncOperations.configureHTTPServerPipeline()
///     try channel.pipeline.syncOperations.addHandler(
///       ContainedHTTPHandler(operation: { head in "\(head.method) \(route(of: head.uri))" }) { head, body in
///         HTTPAnswer("well\n")
///       })
///   }
/// }
/// ```
///
/// If a request traps, the handler answers with the status 500 and closes the connection. Requests on other connections
/// continue. The report of a crash names the operation, the header `X-Request-ID` and the trace of the request. If
/// containment is off, the handler only registers each request, so that reports name it, and a trap ends the process.
///
/// The code of a channel handler runs on an event loop. A trap on an event loop cannot be contained, because all
/// connections of the loop need its thread. Therefore this handler calls `respond` in a task. `respond` must not move
/// its work to an event loop.
///
/// The handler requires the pipelining assistance of `configureHTTPServerPipeline`, which is on by default. With this
/// assistance, the handler receives the next request only after the response to the previous one.
public final class ContainedHTTPHandler: ChannelInboundHandler {
  /// The parts of requests.
  public typealias InboundIn = HTTPServerRequestPart
  /// The parts of responses.
  public typealias OutboundOut = HTTPServerResponsePart

  /// Answers a request with its head and its body.
  public typealias Respond = @Sendable (HTTPRequestHead, ByteBuffer) async throws -> HTTPAnswer

  private let limit: Int
  private let operation: @Sendable (HTTPRequestHead) -> String
  private let respond: Respond

  private var head: HTTPRequestHead?
  private var body = ByteBuffer()
  private var answer: Task<Void, Never>?
  private var isQuiescing = false

  /// Creates a handler for one connection.
  ///
  /// - Parameters:
  ///   - maximumBodyBytes: The largest body of a request. The handler answers a request with a larger body with the
  ///     status 413.
  ///   - operation: Returns what a request does, such as its method and route. Do not include the path: reports are
  ///     filtered by this name, and a path can contain personal data.
  ///   - respond: Answers a request. If it throws an error, the response has the status 500.
  public init(
    maximumBodyBytes: Int = 1 << 20, operation: @escaping @Sendable (HTTPRequestHead) -> String,
    respond: @escaping Respond
  ) {
    (limit, self.operation, self.respond) = (maximumBodyBytes, operation, respond)
  }

  /// Collects the parts of a request, and answers the request.
  public func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      self.head = head
      body.clear()
    case .body(let part):
      guard let head else { return }
      if body.readableBytes + part.readableBytes > limit {
        self.head = nil
        write(
          HTTPAnswer("The body is too large.\n", status: .payloadTooLarge), to: head, closes: true, context: context)
      } else {
        body.writeImmutableBuffer(part)
      }
    case .end:
      guard let head else { return }
      self.head = nil
      start(head, context: context)
    }
  }

  /// Cancels the task that runs the request, because the client has disconnected.
  public func channelInactive(context: ChannelHandlerContext) {
    answer?.cancel()
    context.fireChannelInactive()
  }

  /// Closes the connection at a graceful shutdown.
  ///
  /// If a request has already begun, the handler answers it first.
  public func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if event is ChannelShouldQuiesceEvent {
      isQuiescing = true
      if answer == nil && head == nil { context.close(promise: nil) }
    }
    context.fireUserInboundEventTriggered(event)
  }

  /// Closes the connection, because the client sent invalid data or the connection failed.
  public func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

  private func start(_ head: HTTPRequestHead, context: ChannelHandlerContext) {
    let work = Work(head: head, body: body, operation: operation(head), respond: respond)
    let promise = context.eventLoop.makePromise(of: (HTTPAnswer, closes: Bool).self)
    answer = promise.completeWithTask { await work.answer() }
    promise.futureResult.assumeIsolated().whenSuccess { answer, closes in
      self.answer = nil
      self.write(answer, to: head, closes: closes, context: context)
    }
  }

  private func write(_ answer: HTTPAnswer, to head: HTTPRequestHead, closes: Bool, context: ChannelHandlerContext) {
    let closes = closes || isQuiescing || !head.isKeepAlive || head.version == .http1_0 || Shield.isDraining
    var headers = answer.headers
    headers.replaceOrAdd(name: "Content-Length", value: String(answer.body.readableBytes))
    if closes { headers.replaceOrAdd(name: "Connection", value: "close") }
    context.write(
      wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: answer.status, headers: headers))),
      promise: nil)
    if head.method != .HEAD { context.write(wrapOutboundOut(.body(.byteBuffer(answer.body))), promise: nil) }
    let written = context.writeAndFlush(wrapOutboundOut(.end(nil)))
    if closes {
      let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
      written.whenComplete { _ in bound.value.close(promise: nil) }
    }
  }
}

/// The task of one request.
private struct Work: Sendable {
  let head: HTTPRequestHead
  let body: ByteBuffer
  let operation: String
  let respond: ContainedHTTPHandler.Respond

  /// Returns the response, and whether the handler must close the connection.
  func answer() async -> (HTTPAnswer, closes: Bool) {
    let parent = TraceParent(onlyOf: head.headers[TraceParent.headerName])
    do {
      let answer = try await Shield.withContainedRequest(
        operation, id: head.headers.first(name: "x-request-id"), traceID: parent?.traceID, spanID: parent?.spanID
      ) { try await respond(head, body) }
      return (answer, false)
    } catch {
      let fault = (error as? ShieldFault)?.responseText
      return (HTTPAnswer("\(fault ?? "The request failed.")\n", status: .internalServerError), fault != nil)
    }
  }
}

// The handler is not sendable: only the event loop of its connection is allowed to use it.
@available(*, unavailable)
extension ContainedHTTPHandler: Sendable {}
