import NIOCore

/// Sends replies to one client.
///
/// This type does not queue replies. A write ends after the kernel has accepted the whole reply, so the caller has to
/// wait for a slow client. If the kernel does not accept the reply before the time-out, the connection is closed. The
/// client can later request the missed events with a cursor (its position in the stored events).
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
    // The writer of NIOAsyncChannel is not used, because its write already returns when the reply is in NIO's queue. If
    // the client does not read, the last replies would stay in NIO's queue forever, without a time-out.
    try await channel.writeAndFlush(reply)
  }

  /// Sends the last reply of the connection, without throwing.
  ///
  /// The caller must close the connection when this method has returned.
  func writeLast(_ reply: ByteBuffer) async {
    do { try await write(reply) } catch {
      // Ignore an error, because it means that the client has already disconnected.
    }
  }

  func close() { channel.close(promise: nil) }
}
