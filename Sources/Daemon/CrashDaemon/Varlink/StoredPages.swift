import CrashProtocol
import CrashStore
import NIOCore

/// A stream of replies that is read from the store one page at a time.
///
/// A page of replies stays in crashd's memory until the client has accepted all of it. crashd has pages in memory for
/// only a few connections of one user at the same time. The user's other connections wait. The user is charged for the
/// CPU time of each page. If the user has used too much CPU time, the stream waits, as a call does.
protocol StoredPages: Sendable {
  var server: VarlinkServer { get }
  var client: Client { get }
  var writer: ReplyWriter { get }

  /// Sends the stream of replies to the client.
  ///
  /// Returns when the caller must close the connection.
  func write() async
}

extension StoredPages {
  /// Sends a first reply, and then pages.
  ///
  /// After the last page, the method waits until the store has further entries, and then sends further pages. The
  /// method returns when the client has disconnected or the store fails. The method closes the connection before it
  /// returns. Ordering: the caller must subscribe to `news` before it reads the store for the first reply. Otherwise,
  /// an event that is stored between the read and the subscription would be missed.
  /// - Parameters:
  ///   - first: The first reply.
  ///   - news: A stream that has an element whenever the store could have more pages.
  ///   - writePage: Writes the next page; returns true if the store has no more pages now.
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
      // Ignore an error, because it means that the client has disconnected.
    }
    writer.close()
  }

  /// Waits until crashd is allowed to have another page in memory for the client's user, and then runs `body`.
  func inTurn<Value>(_ body: () async throws -> Value) async throws -> Value {
    let uid = client.peer.uid
    try await server.waitForCPU(of: client.peer)
    let permit = UserAccounts.isTrusted(uid) ? nil : await server.hub.pages.enter(uid)
    defer { permit?.giveBack() }
    return try await body()
  }

  /// Runs `body`, and charges the client for its CPU time.
  func charged<Value>(_ body: () throws -> Value) rethrows -> Value {
    try CPUAccounts.$current.withValue(CPUAccounts.Charge(server.cpu, client.peer.uid), operation: body)
  }
}
