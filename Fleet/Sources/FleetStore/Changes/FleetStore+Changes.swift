internal import NIOPosix

// Announces to the pages of a tenant that its crashes have changed, by NOTIFY of PostgreSQL.
extension FleetStore {
  /// Announces that the crashes of these tenants have changed.
  ///
  /// Call it after the commit, and not for each batch: PostgreSQL lets only one transaction with a notification commit
  /// at a time.
  public func announce(_ tenants: Set<Int32>) async throws(FleetError) {
    try await run { connection throws(FleetError) in
      _ = try connection.run(Self.notify, .int32s(tenants.sorted()))
    }
  }

  /// Returns the changes of a tenant from now on: true for a change, and false after each 15 s without one
  /// and after a failure.
  ///
  /// The stream has a connection of its own, and opens a new one if this connection breaks. The stream begins with
  /// true, also after each new connection, because changes may have been missed. It ends with its iterator.
  public func changes(tenant: Int32) -> AsyncStream<Bool> {
    let (stream, continuation) = AsyncStream.makeStream(of: Bool.self, bufferingPolicy: .bufferingNewest(4))
    let info = configuration.connection
    let task = Task {
      let thread = NIOThreadPool(numberOfThreads: 1)
      thread.start()
      while !Task.isCancelled {
        do {
          let connection = try await thread.runIfActive { try Self.listen(info) }
          continuation.yield(true)
          var waits = 0
          while !Task.isCancelled {
            let hasChanged = try await thread.runIfActive {
              try connection.awaitNotification("\(tenant)", timeout_ms: Self.wait_ms)
            }
            waits = hasChanged ? 0 : waits + 1
            if hasChanged || waits % Self.quietWaits == 0 { continuation.yield(hasChanged) }
          }
        } catch {
          continuation.yield(false)
          // A cancellation ends the loop.
          try? await Task.sleep(for: .seconds(1))
        }
      }
      // shutdownGracefully() fails only if the thread has already ended.
      try? await thread.shutdownGracefully()
    }
    continuation.onTermination = { _ in task.cancel() }
    return stream
  }

  /// The time of one wait, after which the thread checks whether the stream has ended.
  private static let wait_ms: Int32 = 500
  private static let quietWaits = 30

  private static func listen(_ info: String) throws(FleetError) -> Connection {
    let connection = try Connection(info)
    try connection.script("listen crash_fleet")
    return connection
  }

  private static let notify = Statement(
    name: "notify", sql: "select pg_notify('crash_fleet', tenant::text) from unnest($1::int[]) i (tenant)")
}
