/// Not more events a minute than a sink may have; ten seconds' worth of them may come at once.
///
/// Nothing is dropped: what comes faster waits in crashd's store.
struct Pace {
  private let interval: Duration
  private let credit: Duration
  /// When the next event would come, if all came evenly.
  private var due: ContinuousClock.Instant?

  init(perMinute: Int) {
    interval = .seconds(60) / max(1, perMinute)
    credit = max(.seconds(10) - interval, .zero)
  }

  /// How long the next event waits; the caller sends one.
  mutating func delay(at now: ContinuousClock.Instant) -> Duration {
    let next = max(due ?? now, now)
    due = next + interval
    return max(now.duration(to: next) - credit, .zero)
  }
}
