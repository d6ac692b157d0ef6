import CrashShield
import LoadWork
import NIOCore
import NIOHTTP1

/// Answers the requests of one connection, each in a separate task.
final class Handler: ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private var head: HTTPRequestHead?

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): self.head = head
    case .body: break
    case .end:
      if let head { Self.begin(head, context.channel) }
    }
  }

  /// Runs a request, and responds to it.
  private static func begin(_ head: HTTPRequestHead, _ channel: any Channel) {
    let (path, keepsAlive) = (head.uri, head.isKeepAlive)
    Task {
      do {
        let text = try await Shield.withContainedRequest("GET \(path)") { try await Work.answer(path) }
        respond(channel, .ok, text, closes: !keepsAlive)
      } catch {
        respond(channel, .internalServerError, "\(error)", closes: true)
      }
    }
  }

  /// Writes a response.
  ///
  /// A process that drains closes the connection after this response.
  private static func respond(_ channel: any Channel, _ status: HTTPResponseStatus, _ text: String, closes: Bool) {
    let closes = closes || Shield.isDraining
    let body = channel.allocator.buffer(string: text)
    var head = HTTPResponseHead(version: .http1_1, status: status)
    head.headers.add(name: "Content-Length", value: "\(body.readableBytes)")
    if closes { head.headers.add(name: "Connection", value: "close") }
    channel.eventLoop.execute { [head] in
      channel.write(HTTPServerResponsePart.head(head), promise: nil)
      channel.write(HTTPServerResponsePart.body(.byteBuffer(body)), promise: nil)
      let written = channel.writeAndFlush(HTTPServerResponsePart.end(nil))
      if closes { written.whenComplete { _ in channel.close(promise: nil) } }
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
