/// The usual rate of a service's use-after-free crashes, which the detector compares with.
///
/// Half an event in a day is assumed at first, and counts as one day of observation. A day is learned only after a
/// week, and not if an alarm came meanwhile: a rise must not become the norm before it can be detected. An alarm
/// without consequences was a false one: those days, and the ones under protection, are learned after all. Of long
/// observations the last 90 days' weight is kept.
public struct CrashBaseline: Sendable, Hashable, Codable {
  /// Days that wait before they are learned.
  public static let lag_days = 7
  /// The weight of what was learned, in days.
  public static let memory_days = 90.0
  /// No service is taken for better than this: one crash in two quiet years must not be an alarm.
  public static let leastRate_perDay = 0.02

  private struct Stretch: Hashable, Codable, Sendable {
    var days = 0.0
    var events = 0.0
    /// Load times days.
    var exposure = 0.0
  }

  private var learned = Stretch()
  private var waiting: [Stretch] = []
  private var current = Stretch()

  /// Nothing learned yet.
  public init() {}

  /// Days that were learned.
  public var learned_days: Double { learned.days }

  /// Expected crashes a day at the usual load.
  public var rate_perDay: Double { max(Self.leastRate_perDay, (learned.events + 0.5) / (learned.days + 1)) }

  /// Crashes to expect in a stretch of time at this load.
  public func expected(days: Double, load: Double) -> Double {
    guard learned.exposure > 0, learned.days > 0, load.amount > 0 else { return rate_perDay * days.amount }
    let usual = learned.exposure / learned.days
    return rate_perDay * days.amount * min(load / usual, 100)
  }

  /// Adds the events of a stretch of time.
  public mutating func observe(days: Double, load: Double, events: Double) {
    observeWaiting(days: days, load: load, events: events)
    guard current.days >= 1 else { return }
    waiting.append(current)
    current = Stretch()
    if waiting.count > Self.lag_days { learn(waiting.removeFirst()) }
  }

  /// Adds events during an alarm: they wait until `learnRecent` or `forgetRecent` decides about them.
  public mutating func observeWaiting(days: Double, load: Double, events: Double) {
    current.days += days.amount
    current.events += events.amount
    current.exposure += days.amount * load.amount
  }

  /// Learns all waiting days: the apparent rise is the norm.
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

  /// Forgets the waiting days: they belong to the rise that caused the alarm.
  public mutating func forgetRecent() {
    waiting = []
    current = Stretch()
  }
}
