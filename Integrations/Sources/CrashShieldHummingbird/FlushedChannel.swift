public import HummingbirdCore
public import Logging
public import NIOCore

/// A connection of a Hummingbird server that sends its last response before it closes.
///
/// At a graceful shutdown, Hummingbird 2.28.1 closes an HTTP/2 connection after it has written the last response, but
/// before it has flushed the response. The client then never receives this response. `FlushedChannel` delays the close
/// to the next iteration of the event loop. At that time, the response is flushed:
///
/// ```swift
/// let server = Application(
///   responder: ContainedResponder(router: router, closesConnections: false),
///   server: HTTPServerBuilder { responder in
///     FlushedChannel(try HTTP2UpgradeChannel(tlsConfiguration: tls, responder: responder))
///   })
/// ```
public struct FlushedChannel<Base: ServerChildChannel>: ServerChildChannel {
  /// The type of connection that `base` sets up.
  public typealias Value = Base.Value

  private let base: Base

  /// Creates the channel.
  ///
  /// - Parameter base: Sets the connections up, and serves them.
  public init(_ base: Base) { self.base = base }

  /// Sets a connection up as `base` does, and delays its close.
  public func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Base.Value> {
    // NIO calls `close` on each handler, from the last one in the pipeline to the first one. The first `DelayedClose`
    // is at the first position, so it runs after the handlers that `base.setup` adds now. The second `DelayedClose`
    // runs after the HTTP/2 handlers that `base` adds when TLS has negotiated the protocol.
    do {
      try channel.pipeline.syncOperations.addHandler(DelayedClose(), position: .first)
      let value = base.setup(channel: channel, logger: logger)
      try channel.pipeline.syncOperations.addHandler(DelayedClose())
      return value
    } catch {
      return channel.eventLoop.makeFailedFuture(error)
    }
  }

  /// Serves a connection as `base` does.
  public func handle(value: Base.Value, logger: Logger) async { await base.handle(value: value, logger: logger) }
}

/// Delays the close of a channel to the next iteration of the event loop, because the current iteration can still flush
/// a response.
private final class DelayedClose: ChannelOutboundHandler {
  typealias OutboundIn = Never

  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    guard mode == .all else { return context.close(mode: mode, promise: promise) }
    let bound = NIOLoopBound(context, eventLoop: context.eventLoop)
    context.eventLoop.execute { bound.value.close(mode: mode, promise: promise) }
  }
}
