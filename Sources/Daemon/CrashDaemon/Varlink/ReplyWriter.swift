import NIOCore

/// Sends replies to one client.
///
/// Replies are not queued. A write ends only when the kernel has accepted the reply, so a write waits for a slow
/// client. After a time-out the connection is closed. A subscriber can later request the missed events by cursor.
struct ReplyWriter: Sendable {
  let channel: any Channel
  let peer: Peer
  let ledger: Ledger
  let limit_ms: Int

  func write(_ reply: ByteBuffer) async throws {
    let (ledger, peer, channel, limit_ms) = (ledger, peer, channel, limit_ms)
    let alarm = channel.eventLoop.scheduleTask(in: .milliseconds(Int64(limit_ms))) {
      ledger.refuse("slow reader", from: peer, because: "it did not read for \(limit_ms) ms, disconnected")
      channel.close(promise: nil)
    }
    defer { alarm.cancel() }
    // The writer of NIOAsyncChannel is not used, because it returns when the reply is in its own queue. The last
    // replies to a client that does not read would wait in that queue without a time-out.
    try await channel.writeAndFlush(reply)
  }

  /// Sends the last reply before the connection is closed.
  func writeLast(_ reply: ByteBuffer) async {
    do { try await write(reply) } catch {
      // The client has already disconnected, which has the same result.
    }
  }

  func close() { channel.close(promise: nil) }
}
