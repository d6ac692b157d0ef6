import NIOHTTP1
import Synchronization

/// Answers scrapes (requests of Prometheus for the metrics): all scrapes within one second get the same cached text.
///
/// Therefore, a client that scrapes continuously causes no more work than a client that scrapes every second.
final class MetricsScrapes: Sendable {
  /// The maximum number of concurrent connections; further connections are closed.
  static let connectionLimit = 8
  /// The time-out for a client to send its whole request, counted from the start of the connection.
  static let silence_ms = 2_000
  /// The maximum size of a request.
  ///
  /// The limit is sufficient, because the requests of Prometheus have a few hundred bytes.
  static let requestLimitBytes = 8 << 10

  struct Answer: Sendable, Equatable {
    var status: HTTPResponseStatus
    var type: String
    var text: String
  }

  private struct State {
    var connections = 0
    var text: Task<String?, Never>?
    /// The time when `text` was complete; nil while crashd is making it.
    var ready_ns: UInt64?
  }

  /// The time-out for the whole connection, including the reply.
  let limit_ms: Int

  private let now_ns: @Sendable () -> UInt64
  private let make: @Sendable () async -> String?
  private let state = Mutex(State())

  init(
    limit_ms: Int, now_ns: @escaping @Sendable () -> UInt64 = { Moment.monotonic_ns() },
    make: @escaping @Sendable () async -> String?
  ) {
    (self.limit_ms, self.now_ns, self.make) = (limit_ms, now_ns, make)
  }

  convenience init(interface: CrashdInterface) {
    self.init(limit_ms: interface.limits.write_ms) { try? await interface.metricsText() }
  }

  /// Counts a new connection; returns false if there are too many connections.
  func enter() -> Bool {
    state.withLock { state in
      guard state.connections < Self.connectionLimit else { return false }
      state.connections += 1
      return true
    }
  }

  func leave() { state.withLock { $0.connections -= 1 } }

  func answer(_ method: HTTPMethod, _ uri: String) async -> Answer {
    guard uri.prefix(while: { $0 != "?" }) == "/metrics" else {
      return Self.failure(.notFound, "the metrics are at /metrics")
    }
    guard method == .GET || method == .HEAD else { return Self.failure(.methodNotAllowed, "use GET or HEAD") }
    guard let text = await text() else { return Self.failure(.serviceUnavailable, "the store is not available") }
    return Answer(status: .ok, type: "application/openmetrics-text; version=1.0.0; charset=utf-8", text: text)
  }

  private static func failure(_ status: HTTPResponseStatus, _ text: String) -> Answer {
    Answer(status: status, type: "text/plain; charset=utf-8", text: text + "\n")
  }

  /// Returns the cached text, or makes a new text if the cached text is too old.
  ///
  /// Only one task makes a text at a time. Otherwise, each further scrape would add work while the store is slow.
  func text() async -> String? {
    let now_ns = now_ns()
    let task = state.withLock { state in
      if let task = state.text, state.ready_ns.map({ now_ns < $0 + 1_000_000_000 }) ?? true { return task }
      let task = Task {
        let text = await make()
        self.state.withLock { $0.ready_ns = self.now_ns() }
        return text
      }
      (state.text, state.ready_ns) = (task, nil)
      return task
    }
    return await task.value
  }
}
