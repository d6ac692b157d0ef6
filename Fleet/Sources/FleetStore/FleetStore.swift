internal import FoundationEssentials
internal import NIOPosix
internal import Synchronization

/// The database of a fleet.
///
/// Calls wait in a bounded queue for one of a few connections. A call blocks a thread of the pool, because libpq
/// blocks.
public final class FleetStore: Sendable {
  /// How the store connects to the database, and its limits.
  public struct Configuration: Sendable, Equatable {
    /// A connection string of libpq.
    ///
    /// If the string has several hosts, libpq chooses the one that accepts writes.
    public var connection: String
    /// The maximum number of connections.
    public var connections = 8
    /// The maximum number of calls that wait for a connection; further calls fail at once.
    public var waiting = 256
    /// The number of days for which reports are kept.
    public var reportDays: Int32 = 30
    /// The number of months for which counters are kept.
    public var counterMonths: Int32 = 13

    /// Creates a configuration with default limits.
    public init(connection: String) { self.connection = connection }
  }

  /// The configuration.
  public let configuration: Configuration

  private struct State {
    var idle: [Connection] = []
    var calls = 0
  }

  private let threads: NIOThreadPool
  private let state = Mutex(State())
  let dimensions = Mutex(Dimensions())

  /// Returns the time of this machine's clock in microseconds since 1970.
  public static func now_us() -> Int64 { Int64(Date().timeIntervalSince1970 * 1_000_000) }

  /// Creates a store; the first call connects.
  public init(_ configuration: Configuration) {
    var configuration = configuration
    // A stored report can move to another group, which changes a counter. Therefore keep counters at least as long as
    // reports.
    configuration.counterMonths = max(configuration.counterMonths, configuration.reportDays / 28 + 1)
    self.configuration = configuration
    threads = NIOThreadPool(numberOfThreads: configuration.connections)
    threads.start()
  }

  /// Closes the connections, and ends the threads.
  public func close() async {
    // shutdownGracefully() fails only if the threads have already ended.
    try? await threads.shutdownGracefully()
    state.withLock { $0.idle.removeAll() }
  }

  /// The number of calls that are waiting or running.
  public var calls: Int { state.withLock { $0.calls } }

  /// Runs `body` with a connection, on a thread of the pool.
  func run<Value: Sendable>(
    _ body: @escaping @Sendable (Connection) throws(FleetError) -> Value
  ) async throws(FleetError) -> Value {
    let limit = configuration.connections + configuration.waiting
    let isBusy = state.withLock { state in
      if state.calls >= limit { return true }
      state.calls += 1
      return false
    }
    if isBusy { throw .busy(limit: limit) }
    defer { state.withLock { $0.calls -= 1 } }
    let result: Result<Value, FleetError>
    do {
      result = try await threads.runIfActive { [self] in
        do throws(FleetError) { return .success(try perform(body)) } catch { return .failure(error) }
      }
    } catch {
      throw .unreachable("the store is closed")
    }
    return try result.get()
  }

  /// Runs a read-only statement for a web page, and returns its rows.
  ///
  /// The server ends the statement after `pageSeconds`. A failed statement is not repeated, because a reader waits for
  /// the page and can reload it. The server plans each statement for its parameters, because one plan for all searches
  /// would not use an index.
  package func rows(_ statement: Statement, _ parameters: Parameters) async throws(FleetError) -> [[String?]] {
    try await run { connection throws(FleetError) in
      try connection.transaction { () throws(FleetError) in
        try connection.script(
          """
          set transaction read only; set local statement_timeout = '\(Self.pageSeconds)s';
          set local plan_cache_mode = force_custom_plan
          """)
        return try connection.run(statement, parameters).rows
      }
    }
  }

  /// The maximum time of a statement for a web page.
  package static let pageSeconds = 5

  /// Runs a call, and repeats it with a short delay if it fails temporarily.
  ///
  /// Precondition: the call is idempotent, because the outcome of a failed commit is unknown.
  func retrying<Value: Sendable>(
    _ body: @escaping @Sendable (Connection) throws(FleetError) -> Value
  ) async throws(FleetError) -> Value {
    for attempt in 1..<Self.attempts {
      do throws(FleetError) { return try await run(body) } catch {
        guard error.isTemporary, error != .stale else { throw error }
        if case .busy = error { throw error }
        // In a canceled task, the sleep ends at once, and the next attempt is the last one.
        try? await Task.sleep(for: .milliseconds(50 << attempt))
      }
    }
    return try await run(body)
  }

  private static let attempts = 3

  private func perform<Value>(
    _ body: (Connection) throws(FleetError) -> Value
  ) throws(FleetError) -> Value {
    let idle = state.withLock { $0.idle.popLast() }
    let connection: Connection
    if let idle { connection = idle } else { connection = try Connection(configuration.connection) }
    do throws(FleetError) {
      let value = try body(connection)
      state.withLock { $0.idle.append(connection) }
      return value
    } catch {
      if error.endsConnection {
        // Close the other idle connections, because they lead to the same server. Empty the cache, because the next
        // server may lack the newest rows.
        state.withLock { $0.idle.removeAll() }
        forgetDimensions()
      } else {
        state.withLock { $0.idle.append(connection) }
      }
      throw error
    }
  }
}
