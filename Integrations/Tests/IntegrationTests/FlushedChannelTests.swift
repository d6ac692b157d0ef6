import CrashShieldHummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOEmbedded
import Synchronization
import Testing

struct FlushedChannelTests {
  @Test(
    "a connection that its manager closes during a write is flushed before it is closed",
    arguments: [Closing.isSetUpAtOnce, .isSetUpLater])
  func order(closing: Closing) throws {
    let channel = EmbeddedChannel()
    let events = Events()
    _ = FlushedChannel(ClosingChannel(closing: closing, events: events)).setup(
      channel: channel, logger: Logger(label: "test"))
    channel.embeddedEventLoop.run()
    try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    channel.writeAndFlush("the last response", promise: nil)
    channel.embeddedEventLoop.run()
    #expect(events.names == ["write", "flush", "close"])
  }
}

/// When `ClosingChannel` adds the handler that closes the connection.
enum Closing: Sendable {
  /// `setup` adds the handler, as for HTTP/2 without TLS.
  case isSetUpAtOnce
  /// The handler is added after `setup`, as for HTTP/2 over TLS, which negotiates the protocol first.
  case isSetUpLater
}

/// A channel that closes itself when a response is written.
private struct ClosingChannel: ServerChildChannel {
  struct Value: ServerChildChannelValue {
    let channel: any Channel
  }

  let closing: Closing
  let events: Events

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
    let events = events
    switch closing {
    case .isSetUpAtOnce:
      return channel.eventLoop.makeCompletedFuture {
        // The recorder is the first handler of the pipeline, so it records what the pipeline sends to the socket.
        try channel.pipeline.syncOperations.addHandler(Recorder(events), position: .first)
        try channel.pipeline.syncOperations.addHandler(CloseOnWrite())
        return Value(channel: channel)
      }
    case .isSetUpLater:
      return channel.eventLoop.makeCompletedFuture {
        // The recorder is at the position that the TLS handler has in a server.
        try channel.pipeline.syncOperations.addHandler(Recorder(events))
      }.flatMap {
        channel.eventLoop.submit {
          try channel.pipeline.syncOperations.addHandler(CloseOnWrite())
          return Value(channel: channel)
        }
      }
    }
  }

  func handle(value: Value, logger: Logger) async {}
}

private final class Events: Sendable {
  private let all = Mutex<[String]>([])
  var names: [String] { all.withLock { $0 } }
  func add(_ name: String) { all.withLock { $0.append(name) } }
}

private final class CloseOnWrite: ChannelOutboundHandler {
  typealias OutboundIn = String

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    context.write(data, promise: promise)
    context.close(promise: nil)
  }
}

private final class Recorder: ChannelOutboundHandler {
  typealias OutboundIn = String
  private let events: Events

  init(_ events: Events) { self.events = events }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    events.add("write")
    context.write(data, promise: promise)
  }

  func flush(context: ChannelHandlerContext) {
    events.add("flush")
    context.flush()
  }

  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    events.add("close")
    context.close(mode: mode, promise: promise)
  }
}
