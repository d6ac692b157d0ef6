import NIOCore
import NIOHTTPTypes

/// The client did not send its request in time.
struct SlowClient: Error {}

/// Ends requests that take too long to arrive or to be answered, and connections that are idle between requests.
///
/// Each deadline is fixed when its phase begins. If only the time between two reads were limited, a client could send
/// one byte at a time forever, and a client that reads no answer would keep its connection.
final class DeadlineHandler: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart
  typealias OutboundIn = HTTPResponsePart
  typealias OutboundOut = HTTPResponsePart

  /// The maximum duration of each phase.
  struct Limits {
    /// From the head of a request to its end.
    var request: TimeAmount
    /// From the end of a request to the end of its answer.
    var answer: TimeAmount
    /// From an answer, or the beginning of the connection, to the next head.
    var idle: TimeAmount
  }

  /// The time in which a client that was too slow can read the refusal.
  private static let farewell = TimeAmount.seconds(3)

  private let limits: Limits
  private var timer: Scheduled<Void>?
  private var isReceiving = false
  /// The number of whole requests without an answer; a client may send the next request before the answer.
  private var unanswered = 0
  /// Whether the service has already refused the request that is still being received.
  private var isRefused = false
  /// Whether the request did not arrive in time, after which nothing delays the end of the connection.
  private var isEnding = false

  init(_ limits: Limits) { self.limits = limits }

  func handlerAdded(context: ChannelHandlerContext) { wait(context) }
  func handlerRemoved(context: ChannelHandlerContext) { timer?.cancel() }

  func channelInactive(context: ChannelHandlerContext) {
    timer?.cancel()
    context.fireChannelInactive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head:
      (isReceiving, isRefused) = (true, false)
      set(limits.request, context) { [self] in refuse($0) }
    case .body: break
    case .end:
      isReceiving = false
      if !isRefused { unanswered += 1 }
      wait(context)
    }
    context.fireChannelRead(data)
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    if case .end = unwrapOutboundIn(data) {
      if unanswered > 0 { unanswered -= 1 } else if isReceiving { isRefused = true }
      // A request that is being received keeps its deadline.
      if !isReceiving { wait(context) }
    }
    context.write(data, promise: promise)
  }

  /// Refuses a request that did not arrive in time, and closes the connection soon.
  ///
  /// Hummingbird does not close the connection: after its answer, it waits for the client to close it.
  private func refuse(_ context: ChannelHandlerContext) {
    set(unanswered > 0 ? limits.answer : Self.farewell, context) { $0.close(promise: nil) }
    isEnding = true
    context.fireErrorCaught(SlowClient())
  }

  /// Sets the deadline of the phase after a whole request or an answer.
  private func wait(_ context: ChannelHandlerContext) {
    set(unanswered > 0 ? limits.answer : limits.idle, context) { $0.close(promise: nil) }
  }

  private func set(
    _ delay: TimeAmount, _ context: ChannelHandlerContext, _ end: @escaping (ChannelHandlerContext) -> Void
  ) {
    if isEnding { return }
    timer?.cancel()
    timer = context.eventLoop.assumeIsolated().scheduleTask(in: delay) { end(context) }
  }
}

// Sendable: only the event loop of the channel uses the handler.
@available(*, unavailable)
extension DeadlineHandler: Sendable {}
