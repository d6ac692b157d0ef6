import NIOCore

/// Cuts the stream at the zeros, or the other byte, that end each message.
struct VarlinkFrameDecoder: ByteToMessageDecoder {
  typealias InboundOut = [UInt8]

  /// A message that is longer than the limit.
  struct TooLong: Error, Equatable {
    var limit: Int
  }

  let limit: Int
  let separator: UInt8
  // How much of the buffer holds no zero: each byte is read once.
  private var searched = 0

  init(limit: Int, separator: UInt8 = 0) {
    self.limit = limit
    self.separator = separator
  }

  mutating func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) throws -> DecodingState {
    guard let frame = try next(in: &buffer) else { return .needMoreData }
    context.fireChannelRead(wrapInboundOut(frame))
    return .continue
  }

  mutating func decodeLast(
    context: ChannelHandlerContext, buffer: inout ByteBuffer, seenEOF: Bool
  ) throws -> DecodingState {
    try decode(context: context, buffer: &buffer)
  }

  /// The next message without its zero; nil when it is not complete.
  mutating func next(in buffer: inout ByteBuffer) throws(TooLong) -> [UInt8]? {
    let unseen = buffer.readableBytesView.dropFirst(searched)
    guard let zero = unseen.firstIndex(of: separator) else {
      searched = buffer.readableBytes
      if searched > limit { throw TooLong(limit: limit) }
      return nil
    }
    let length = zero - buffer.readerIndex
    if length > limit { throw TooLong(limit: limit) }
    searched = 0
    let frame = buffer.readBytes(length: length) ?? []
    buffer.moveReaderIndex(forwardBy: 1)
    return frame
  }
}
