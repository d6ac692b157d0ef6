import CrashProtocol
import NIOCore

/// One message of a client, and the cost of parsing it.
struct VarlinkFrame: Sendable {
  /// The call in the message; nil if the message is not a call.
  var call: VarlinkCall?
  /// The CPU time that parsing the message took.
  var cost_ns: UInt64
}

/// Parses calls on the event loop of the connection.
///
/// The threads of the event loop do not belong to Swift's cooperative pool. Therefore, a message that takes long to
/// parse delays only other clients, and not the analysis of crashes.
final class VarlinkCallReader: ChannelInboundHandler {
  typealias InboundIn = [UInt8]
  typealias InboundOut = VarlinkFrame

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    let (call, cost_ns) = CPUAccounts.measure { VarlinkCall(frame: frame) }
    context.fireChannelRead(wrapInboundOut(VarlinkFrame(call: call, cost_ns: cost_ns)))
  }
}
