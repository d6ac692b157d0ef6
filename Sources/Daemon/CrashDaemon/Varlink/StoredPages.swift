import CrashProtocol
import CrashStore
import NIOCore

/// A stream of replies that are read from the store one page at a time.
///
/// A page stays in memory until its reader has accepted it. Only a few connections of one user may hold a page at the
/// same time; other connections wait. The user is charged for the cost of each page, and a stream waits for CPU time in
/// the same way as calls.
protocol StoredPages: Sendable {
  var server: VarlinkServer { get }
  var client: Client { get }
  var writer: ReplyWriter { get }

  /// Writes the stream.
  ///
  /// Returns when the connection must be closed.
  func write() async
}

extension StoredPages {
  /// Writes a first reply and then pages, and continues when there is news.
  ///
  /// Returns when the client has disconnected or the store fails. The connection is then closed.
  /// Ordering: `news` must be subscribed before the store is read for the first reply. Otherwise an event between the
  /// two steps would be missed.
  /// - Parameters:
  ///   - first: The first reply.
  ///   - news: Has an element when there is more to read.
  ///   - writePage: Writes the next page, and returns whether it was the last one so far.
  func write(first: ByteBuffer, _ news: AsyncStream<Void>, _ writePage: () async throws -> Bool) async {
    do {
      try await writer.write(first)
      var news = news.makeAsyncIterator()
      repeat {
        while try await !writePage() {}
      } while await news.next() != nil
    } catch let error as StoreError {
      await writer.writeLast(ReplyFrame.failure(ProtocolError(error)))
    } catch {
      // The client disconnected.
    }
    writer.close()
  }

  /// Waits until the client may hold a page, and then runs `body`.
  func inTurn<Value>(_ body: () async throws -> Value) async throws -> Value {
    let uid = client.peer.uid
    try await server.waitForCPU(of: client.peer)
    let permit = UserAccounts.isTrusted(uid) ? nil : await server.hub.pages.enter(uid)
    defer { permit?.giveBack() }
    return try await body()
  }

  /// Charges the client for the cost of `body`.
  func charged<Value>(_ body: () throws -> Value) rethrows -> Value {
    try CPUAccounts.$current.withValue(CPUAccounts.Charge(server.cpu, client.peer.uid), operation: body)
  }
}
