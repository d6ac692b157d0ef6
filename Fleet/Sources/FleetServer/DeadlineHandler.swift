import NIOCore
import NIOHTTPTypes

/// The client did not send its request in time.
struct SlowClient: Error {}

/// Limits the time for which a request arrives, and the time for which a connection is idle between requests.
///
/// A limit for the time between two reads would not suffice: a client could send one byte at a time forever.
final class DeadlineHandler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart
  typealias OutboundIn = HTTPResponsePart
  typealias OutboundOut = HTTPResponsePart

  private let (request, idle): (TimeAmount, TimeAmount)
  private var timer: Scheduled<Void>?

  init(request_s: Int, idle_s: Int) { (request, idle) = (.seconds(Int64(request_s)), .seconds(Int64(idle_s))) }

  func handlerAdded(context: ChannelHandlerContext) { closeWhenIdle(context) }
  func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

  func channelInactive(context: ChannelHandlerContext) {
    timer?.cancel()
    context.fireChannelInactive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head: set(request, context) { $0.fireErrorCaught(SlowClient()) }
    case .body: break
    // While the service prepares the response, no deadline applies here. The time limits of the database apply.
    case .end: timer?.cancel()
    }
    context.fireChannelRead(data)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if case .end = unwrapOutboundIn(data) { closeWhenIdle(context) }
    context.write(data, promise: promise)
  }

  private func closeWhenIdle(_ context: ChannelHandlerContext) { set(idle, context) { $0.close(promise: nil) } }

  private func set(
    _ delay: TimeAmount, _ context: ChannelHandlerContext, _ end: @escaping (ChannelHandlerContext) -> Void
  ) {
    timer?.cancel()
    timer = context.eventLoop.assumeIsolated().scheduleTask(in: delay) { end(context) }
  }
}

// Sendable: only the event loop of the channel uses the handler.
@available(*, unavailable)
extension DeadlineHandler: Sendable {}
