import NIOCore

/// Sends replies to one client.
///
/// Nothing is queued beyond NIO's high-water mark: a write waits until the client has read, and one that waits too long
/// ends the connection. What a subscriber missed it gets by its cursor.
struct ReplyWriter: Sendable {
  let outbound: NIOAsyncChannelOutboundWriter<ByteBuffer>
  let channel: any Channel
  let peer: Peer
  let ledger: Ledger
  let limit_ms: Int

  func write(_ reply: ByteBuffer) async throws {
    let (ledger, peer, channel, limit_ms) = (ledger, peer, channel, limit_ms)
    let alarm = channel.eventLoop.scheduleTask(in: .milliseconds(Int64(limit_ms))) {
      ledger.refuse("slow reader", from: peer, because: "it did not read for \(limit_ms) ms, cut off")
      channel.close(promise: nil)
    }
    defer { alarm.cancel() }
    try await outbound.write(reply)
  }

  /// Sends a reply after which the connection is closed anyway.
  func writeLast(_ reply: ByteBuffer) async {
    do { try await write(reply) } catch {
      // The client went away before: the same end.
    }
  }

  func close() { channel.close(promise: nil) }
}
