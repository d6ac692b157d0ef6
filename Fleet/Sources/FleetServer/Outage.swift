import FleetStore
import Logging
import Synchronization

/// Logs when the database stops storing batches, and when it stores them again: one line each.
///
/// Hosts send their batches again during an outage, so a line for each failure would fill the log.
final class Outage: Sendable {
  static let begin = "the database stores nothing; hosts keep their crashes and send them again"
  static let end = "the database stores crashes again"

  private struct State {
    var began: ContinuousClock.Instant?
    var failures = 0
    /// Whether only a stored batch ends the outage, because the database answers other calls meanwhile.
    var needsStore = false
  }

  private let log: Logger
  private let now: @Sendable () -> ContinuousClock.Instant
  private let state = Mutex(State())

  init(log: Logger, now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) {
    (self.log, self.now) = (log, now)
  }

  /// Records a failed call, and returns the answer for the client.
  func refusal(_ error: FleetError) -> Refusal {
    fail(error)
    if case .refused = error { log.error("\(error)") }
    return Refusal(error)
  }

  /// Records a failed call, and returns whether it is a part of an outage.
  ///
  /// A full queue and a conflict are no outage, because other batches are stored meanwhile. A statement that the
  /// database refuses concerns one batch.
  @discardableResult
  func fail(_ error: FleetError) -> Bool {
    let needsStore: Bool
    switch error {
    case .unreachable: needsStore = false
    case .full, .unreplicated, .schema: needsStore = true
    case .busy, .conflict, .stale, .refused: return false
    }
    let isFirst = state.withLock { state in
      state.failures += 1
      if needsStore { state.needsStore = true }
      guard state.began == nil else { return false }
      state.began = now()
      return true
    }
    if isFirst { log.warning("\(Self.begin)", metadata: ["reason": "\(error)"]) }
    return true
  }

  /// Records a call that the database has answered.
  ///
  /// - Parameter hasStored: Whether the call has stored a batch.
  func succeed(hasStored: Bool = false) {
    let past = state.withLock { state in
      if state.needsStore, !hasStored { return State() }
      defer { state = State() }
      return state
    }
    guard let began = past.began else { return }
    let seconds = began.duration(to: now()).components.seconds
    log.notice("\(Self.end)", metadata: ["seconds": "\(seconds)", "failures": "\(past.failures)"])
  }
}

extension Refusal {
  /// The answer to a request that the database did not serve.
  ///
  /// The texts are fixed, because messages of libpq name the database's addresses and users.
  init(_ error: FleetError) {
    switch error {
    case .unreachable: self.init(.database, "the database is not reachable now; send the request again later")
    case .busy: self.init(.busy, "too many requests wait for the database; send the request again later")
    case .conflict, .stale: self.init(.database, "the request conflicts with another one; send it again later")
    case .full: self.init(.database, "the database has no room now; send the request again later")
    case .unreplicated: self.init(.database, "no standby has confirmed the batch; send it again later")
    case .schema, .refused:
      self.init(.internalError, "the service cannot serve this request; its log has the reason")
    }
  }
}
