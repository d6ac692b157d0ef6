/// The rate limit of a sink, in events per minute.
///
/// A burst can contain as many events as the limit allows in ten seconds.
///
/// Events above the limit are not dropped, because they wait in crashd's store.
struct Pace {
  private let interval: Duration
  private let credit: Duration
  /// The time at which the next event would be due if events were spaced evenly.
  private var due: ContinuousClock.Instant?

  init(perMinute: Int) {
    interval = .seconds(60) / max(1, perMinute)
    credit = max(.seconds(10) - interval, .zero)
  }

  /// Returns how long the next event must wait, and counts this event as sent.
  mutating func delay(at now: ContinuousClock.Instant) -> Duration {
    let next = max(due ?? now, now)
    due = next + interval
    return max(now.duration(to: next) - credit, .zero)
  }
}
