import CrashProtocol
import NIOCore

/// One message from a client.
struct VarlinkFrame: Sendable {
  /// The call; nil if the message is not a call.
  var call: VarlinkCall?
  /// The CPU time of parsing the message.
  var cost_ns: UInt64
}

/// Parses calls on the event loop.
///
/// The threads of the event loop are not in Swift's cooperative pool, so an expensive call delays only other clients.
final class VarlinkCallReader: ChannelInboundHandler {
  typealias InboundIn = [UInt8]
  typealias InboundOut = VarlinkFrame

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    let (call, cost_ns) = CPUAccounts.measure { VarlinkCall(frame: frame) }
    context.fireChannelRead(wrapInboundOut(VarlinkFrame(call: call, cost_ns: cost_ns)))
  }
}
