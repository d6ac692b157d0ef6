import NIOCore

/// Sends replies to one client.
///
/// Nothing is queued. A write ends when the kernel has accepted it, so it waits for the client to read; after a
/// time-out the connection ends. A subscriber gets what it missed by its cursor.
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
    // NIOAsyncChannel's writer would return when the reply is in its own queue: the last replies to a client that does
    // not read would wait there without a time-out.
    try await channel.writeAndFlush(reply)
  }

  /// Sends the last reply before the connection is closed.
  func writeLast(_ reply: ByteBuffer) async {
    do { try await write(reply) } catch {
      // The client disconnected first, with the same result.
    }
  }

  func close() { channel.close(promise: nil) }
}
