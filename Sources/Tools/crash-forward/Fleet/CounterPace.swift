/// The delay after a crash before crash-forward sends crash counters to the fleet, so that one batch counts several
/// crashes.
///
/// The first delay is one second. While crashes go on, the delay doubles with each batch, so a program that crashes in
/// a loop costs the fleet one batch a minute. After a time without crashes, the next batch still has the last delay.
/// The batch after it has a delay of one second again.
struct CounterPace {
  static let (shortest, longest) = (Duration.seconds(1), Duration.seconds(60))

  private(set) var delay = shortest
  private var last: ContinuousClock.Instant?

  /// Records that a batch with counters was sent.
  mutating func sent(at now: ContinuousClock.Instant) {
    let isQuiet = last.map { $0.duration(to: now) > delay * 2 } ?? true
    delay = isQuiet ? Self.shortest : min(delay * 2, Self.longest)
    last = now
  }
}
