import CrashProtocol
import NIOCore

/// What one message of a client is.
struct VarlinkFrame: Sendable {
  /// nil: no call.
  var call: VarlinkCall?
  /// CPU time that was spent to read it.
  var cost_ns: UInt64
}

/// Reads calls on the event loop, whose threads are no part of Swift's cooperative pool: a call that takes its time holds up
/// other clients only.
final class VarlinkCallReader: ChannelInboundHandler {
  typealias InboundIn = [UInt8]
  typealias InboundOut = VarlinkFrame

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    let (call, cost_ns) = CPUAccounts.measure { VarlinkCall(frame: frame) }
    context.fireChannelRead(wrapInboundOut(VarlinkFrame(call: call, cost_ns: cost_ns)))
  }
}
