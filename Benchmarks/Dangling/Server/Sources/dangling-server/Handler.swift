import NIOCore
import NIOHTTP1

/// Responds to the requests of one connection.
final class Handler: Counted, ChannelInboundHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias OutboundOut = HTTPServerResponsePart

  private let session = Session()
  private var keepsAlive = true

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head): keepsAlive = head.isKeepAlive
    case .body: break
    case .end: answer(context)
    }
  }

  private func answer(_ context: ChannelHandlerContext) {
    let body = context.channel.allocator.buffer(string: session.answer())
    var head = HTTPResponseHead(version: .http1_1, status: .ok)
    head.headers.add(name: "Content-Length", value: "\(body.readableBytes)")
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    if !keepsAlive { context.close(promise: nil) }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
