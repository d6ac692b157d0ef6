import CrashProtocol
import NIOCore

/// Splits the bytes of a connection into messages.
///
/// Each message ends with a NUL byte, or with the separator that the initializer receives.
struct VarlinkFrameDecoder: ByteToMessageDecoder {
  typealias InboundOut = [UInt8]

  private var boundary: FrameBoundary

  init(limit: Int, separator: UInt8 = 0) { boundary = FrameBoundary(limit: limit, separator: separator) }

  mutating func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) throws -> DecodingState {
    guard let length = try boundary.next(in: buffer.readableBytesView) else { return .needMoreData }
    let frame = buffer.readBytes(length: length) ?? []
    buffer.moveReaderIndex(forwardBy: 1)
    context.fireChannelRead(wrapInboundOut(frame))
    return .continue
  }

  mutating func decodeLast(
    context: ChannelHandlerContext, buffer: inout ByteBuffer, seenEOF: Bool
  ) throws -> DecodingState {
    try decode(context: context, buffer: &buffer)
  }
}
