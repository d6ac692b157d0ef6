import Synchronization

/// A clock that only the test moves.
final class TestClock: Sendable {
  private let instant = Mutex(ContinuousClock.now)

  var now: ContinuousClock.Instant { instant.withLock { $0 } }

  func advance(_ duration: Duration) { instant.withLock { $0 += duration } }
}
