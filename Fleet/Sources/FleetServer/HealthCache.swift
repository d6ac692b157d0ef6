import Synchronization

/// Answers whether the service can store batches, and asks the database at most once in `lifetime`.
///
/// The request needs no token, so a flood of it must not reach the database.
final class HealthCache: Sendable {
  private struct Answer {
    var result: Result<Void, Refusal>
    var until: ContinuousClock.Instant
  }

  private static let lifetime = Duration.seconds(1)

  private let ask: @Sendable () async throws(Refusal) -> Void
  private let now: @Sendable () -> ContinuousClock.Instant
  private let turn = Semaphore(1, waiting: 64)
  private let answer = Mutex<Answer?>(nil)

  init(
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
    ask: @escaping @Sendable () async throws(Refusal) -> Void
  ) {
    (self.ask, self.now) = (ask, now)
  }

  func check() async throws(Refusal) {
    if let answer = fresh() { return try answer.result.get() }
    // One request asks the database. Requests that arrive meanwhile receive the same answer.
    try await turn.run { () throws(Refusal) in
      if let answer = fresh() { return try answer.result.get() }
      let result: Result<Void, Refusal>
      do throws(Refusal) { result = .success(try await ask()) } catch { result = .failure(error) }
      answer.withLock { $0 = Answer(result: result, until: now() + Self.lifetime) }
      try result.get()
    }
  }

  private func fresh() -> Answer? { answer.withLock { $0 }.flatMap { $0.until > now() ? $0 : nil } }
}
