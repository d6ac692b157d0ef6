/// The rate limit of a sink, in events a minute, with a burst of ten seconds' worth.
///
/// It drops nothing: excess events wait in crashd's store.
struct Pace {
  private let interval: Duration
  private let credit: Duration
  /// The time of the next event if all came evenly.
  private var due: ContinuousClock.Instant?

  init(perMinute: Int) {
    interval = .seconds(60) / max(1, perMinute)
    credit = max(.seconds(10) - interval, .zero)
  }

  /// The delay of the next event, which the caller then sends.
  mutating func delay(at now: ContinuousClock.Instant) -> Duration {
    let next = max(due ?? now, now)
    due = next + interval
    return max(now.duration(to: next) - credit, .zero)
  }
}
