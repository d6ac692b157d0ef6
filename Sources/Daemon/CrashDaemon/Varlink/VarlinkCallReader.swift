import CrashProtocol
import NIOCore

/// One message of a client.
struct VarlinkFrame: Sendable {
  /// Nil: the message is no call.
  var call: VarlinkCall?
  /// The CPU time of reading it.
  var cost_ns: UInt64
}

/// Reads calls on the event loop, whose threads are not in Swift's cooperative pool: an expensive call delays only
/// other clients.
final class VarlinkCallReader: ChannelInboundHandler {
  typealias InboundIn = [UInt8]
  typealias InboundOut = VarlinkFrame

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    let (call, cost_ns) = CPUAccounts.measure { VarlinkCall(frame: frame) }
    context.fireChannelRead(wrapInboundOut(VarlinkFrame(call: call, cost_ns: cost_ns)))
  }
}
