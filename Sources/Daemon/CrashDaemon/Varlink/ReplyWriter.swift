import NIOCore

/// Sends replies to one client.
///
/// Nothing is queued: a write ends when the kernel has taken it, hence waits until the client has read, and one that
/// waits too long ends the connection. What a subscriber missed it gets by its cursor.
struct ReplyWriter: Sendable {
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
    // Not by the NIOAsyncChannel's writer, whose write ends when the reply stands in its own queue: the last replies of
    // a client that does not read would wait there with no alarm set.
    try await channel.writeAndFlush(reply)
  }

  /// Sends a reply after which the connection is closed anyway.
  func writeLast(_ reply: ByteBuffer) async {
    do { try await write(reply) } catch {
      // The client went away before: the same end.
    }
  }

  func close() { channel.close(promise: nil) }
}
