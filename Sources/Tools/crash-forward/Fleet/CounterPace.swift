/// The delay after a crash before crash-forward sends crash counters to the fleet, so that one batch counts several
/// crashes.
///
/// After a quiet time, the delay is one second. While crashes go on, the delay doubles with each batch, so a program
/// that crashes in a loop costs the fleet one batch a minute. A time is quiet if it is longer than twice the last delay.
struct CounterPace {
  static let (shortest, longest) = (Duration.seconds(1), Duration.seconds(60))

  /// The last batch with counters: its delay, and the time when it was sent.
  private var last: (delay: Duration, sent: ContinuousClock.Instant)?

  /// Returns the delay of a batch whose first crash came at `since`.
  func delay(since: ContinuousClock.Instant) -> Duration {
    guard let last, last.sent.duration(to: since) <= last.delay * 2 else { return Self.shortest }
    return min(last.delay * 2, Self.longest)
  }

  /// Records that a batch with counters was sent, whose first crash came at `since`.
  mutating func sent(since: ContinuousClock.Instant, at now: ContinuousClock.Instant) {
    last = (delay(since: since), now)
  }
}
