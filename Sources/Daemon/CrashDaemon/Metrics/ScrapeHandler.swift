import NIOCore
import NIOHTTP1

/// Handles one connection of a scraper, reads one request, sends one reply, and closes the connection.
///
/// The request is untrusted input. Therefore, the number of connections, the bytes and the time are limited. crashd
/// does not store or log any part of the request.
final class ScrapeHandler: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let scrapes: MetricsScrapes
  private var request: HTTPRequestHead?
  private var hasAnswered = false

  private init(_ scrapes: MetricsScrapes) { self.scrapes = scrapes }

  /// Adds the handlers to an accepted connection, or closes the connection if there are too many.
  static func add(to channel: any Channel, _ scrapes: MetricsScrapes) throws {
    guard scrapes.enter() else {
      channel.close(promise: nil)
      return
    }
    channel.closeFuture.whenComplete { _ in scrapes.leave() }
    let end = channel.eventLoop.scheduleTask(in: .milliseconds(Int64(scrapes.limit_ms))) { channel.close(promise: nil) }
    channel.closeFuture.whenComplete { _ in end.cancel() }
    let handler = ScrapeHandler(scrapes)
    // Close a connection early if it sends no request. The number of connections is limited, so idle connections would
    // keep scrapers out.
    let silence = min(scrapes.limit_ms, MetricsScrapes.silence_ms)
    let silent = channel.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(Int64(silence))) {
      if !handler.hasAnswered { channel.close(promise: nil) }
    }
    channel.closeFuture.whenComplete { _ in silent.cancel() }
    let pipeline = channel.pipeline.syncOperations
    try pipeline.addHandler(ByteLimit(MetricsScrapes.requestLimitBytes))
    try pipeline.configureHTTPServerPipeline(withPipeliningAssistance: false)
    try pipeline.addHandler(handler)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch Self.unwrapInboundIn(data) {
    case .head(let head): request = request ?? head
    case .body: break
    case .end:
      guard let request, !hasAnswered else { return }
      hasAnswered = true
      let scrapes = scrapes
      let (method, uri) = (request.method, request.uri)
      let answer = context.eventLoop.makeFutureWithTask { await scrapes.answer(method, uri) }
      answer.assumeIsolated().whenSuccess { self.write($0, to: request, context) }
    }
  }

  private func write(_ answer: MetricsScrapes.Answer, to request: HTTPRequestHead, _ context: ChannelHandlerContext) {
    let body = ByteBuffer(string: answer.text)
    let headers: HTTPHeaders = [
      "Content-Type": answer.type, "Content-Length": "\(body.readableBytes)", "Connection": "close",
      "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
    ]
    let head = HTTPResponseHead(version: .http1_1, status: answer.status, headers: headers)
    context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
    if request.method != .HEAD { context.write(Self.wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
    let isWritten = context.eventLoop.makePromise(of: Void.self)
    context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: isWritten)
    isWritten.futureResult.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
  }

  /// Closes the connection, because NIO could not parse the request.
  func errorCaught(context: ChannelHandlerContext, error _: any Error) { context.close(promise: nil) }
}

/// Closes a connection that sends more bytes than the maximum size of a request.
private final class ByteLimit: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  private var rest: Int

  init(_ limit: Int) { rest = limit }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    rest -= Self.unwrapInboundIn(data).readableBytes
    if rest < 0 { return context.close(promise: nil) }
    context.fireChannelRead(data)
  }
}
