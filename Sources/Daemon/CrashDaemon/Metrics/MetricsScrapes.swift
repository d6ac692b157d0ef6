import NIOHTTP1
import Synchronization

/// Answers scrapes: one text for all that come within a second, so that a client that asks without a pause costs no more
/// than one that asks each second.
final class MetricsScrapes: Sendable {
  /// Connections at once; further ones are closed.
  static let connectionLimit = 8
  /// Prometheus sends a few hundred bytes.
  static let requestLimitBytes = 8 << 10

  struct Answer: Sendable, Equatable {
    var status: HTTPResponseStatus
    var type: String
    var text: String
  }

  private struct State {
    var connections = 0
    var text: Task<String?, Never>?
    var since_ns: UInt64 = 0
  }

  /// From the connection to the end of its answer.
  var limit_ms: Int { interface.limits.write_ms }

  private let interface: CrashdInterface
  private let state = Mutex(State())

  init(interface: CrashdInterface) { self.interface = interface }

  /// Counts a connection; false: there are too many.
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
    guard method == .GET || method == .HEAD else { return Self.failure(.methodNotAllowed, "only GET and HEAD") }
    guard let text = await text() else { return Self.failure(.serviceUnavailable, "the store fails") }
    return Answer(status: .ok, type: "application/openmetrics-text; version=1.0.0; charset=utf-8", text: text)
  }

  private static func failure(_ status: HTTPResponseStatus, _ text: String) -> Answer {
    Answer(status: status, type: "text/plain; charset=utf-8", text: text + "\n")
  }

  private func text() async -> String? {
    let now_ns = Moment.monotonic_ns()
    let task = state.withLock { state in
      if let task = state.text, now_ns < state.since_ns + 1_000_000_000 { return task }
      let interface = interface
      let task = Task { try? await interface.metricsText() }
      (state.text, state.since_ns) = (task, now_ns)
      return task
    }
    return await task.value
  }
}
