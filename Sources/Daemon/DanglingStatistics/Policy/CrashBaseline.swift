/// The usual rate of a service's use-after-free crashes, with which the detector compares the current rate.
///
/// Before any observation, the baseline assumes half a crash in one day. The counts of a day wait for a week, and are
/// added to the baseline only if no alarm occurs in this week. Otherwise, a higher rate could become the usual rate
/// before the detector detects it.
///
/// If the protection catches no access after an alarm, the alarm was false. In this case, the crashes of the waiting
/// days and of the days under protection are added to the baseline. If the baseline covers more than 90 days, its sums
/// are scaled down to the weight of 90 days.
public struct CrashBaseline: Sendable, Hashable, Codable {
  /// The number of days after which a day is added to the baseline.
  public static let lag_days = 7
  /// The maximum weight of the baseline, as a number of days.
  public static let memory_days = 90.0
  /// The minimum of the rate that the baseline assumes as usual, in crashes per day.
  ///
  /// Without this minimum, one crash after two years without crashes would cause an alarm.
  public static let leastRate_perDay = 0.02

  private struct Stretch: Hashable, Codable, Sendable {
    var days = 0.0
    var events = 0.0
    /// The sum, over the observed periods, of the load times the length in days.
    var exposure = 0.0
  }

  private var learned = Stretch()
  private var waiting: [Stretch] = []
  private var current = Stretch()

  /// Makes a baseline that consists only of the prior.
  public init() {}

  /// The number of days in the baseline.
  public var learned_days: Double { learned.days }

  /// The expected number of crashes per day at the usual load.
  public var rate_perDay: Double { max(Self.leastRate_perDay, (learned.events + 0.5) / (learned.days + 1)) }

  /// Returns the number of crashes that are expected in a period of time at the given load.
  public func expected(days: Double, load: Double) -> Double {
    guard learned.exposure > 0, learned.days > 0, load.amount > 0 else { return rate_perDay * days.amount }
    let usual = learned.exposure / learned.days
    return rate_perDay * days.amount * min(load / usual, 100)
  }

  /// Adds the crashes of a period of time without an alarm.
  public mutating func observe(days: Double, load: Double, events: Double) {
    observeWaiting(days: days, load: load, events: events)
    guard current.days >= 1 else { return }
    waiting.append(current)
    current = Stretch()
    if waiting.count > Self.lag_days { learn(waiting.removeFirst()) }
  }

  /// Adds the crashes of a period of time during an alarm.
  ///
  /// These crashes wait: `learnRecent` adds them to the baseline, and `forgetRecent` removes them.
  public mutating func observeWaiting(days: Double, load: Double, events: Double) {
    current.days += days.amount
    current.events += events.amount
    current.exposure += days.amount * load.amount
  }

  /// Adds the crashes of all waiting days to the baseline, because their rate is the usual rate after all.
  public mutating func learnRecent() {
    for stretch in waiting { learn(stretch) }
    learn(current)
    forgetRecent()
  }

  private mutating func learn(_ stretch: Stretch) {
    learned.days += stretch.days
    learned.events += stretch.events
    learned.exposure += stretch.exposure
    guard learned.days > Self.memory_days else { return }
    let share = Self.memory_days / learned.days
    learned.days *= share
    learned.events *= share
    learned.exposure *= share
  }

  /// Removes the crashes of all waiting days, because they belong to the rise that caused the alarm.
  public mutating func forgetRecent() {
    waiting = []
    current = Stretch()
  }
}
