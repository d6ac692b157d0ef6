import CrashStore

/// Measures how long a program did not run after a crash: from the end of the crashed process to the attach of the next
/// process.
///
/// A new process counts as the restart of a crashed process if it has the same user, executable and unit. The attach of
/// the new process can be reported before the end of the crashed one, because crashd learns of an end only after the
/// parent process has reaped it.
struct ReturnTimes: Sendable {
  /// The user, the executable and the unit, which are the same for a crashed process and for its restart.
  struct Service: Hashable, Sendable {
    var program: ServiceKey
    var unit: String?

    init(_ facts: ProcessFacts) { (program, unit) = (ServiceKey(facts), facts.unit) }
  }

  /// A restart of a program after a crash.
  struct Return: Sendable, Equatable {
    /// The build that crashed.
    var key: HealthKey
    var time_ms: UInt64
  }

  private struct Waiting: Sendable {
    var crashes: [(end_ns: UInt64, key: HealthKey)] = []
    var arrivals: [UInt64] = []
    /// The number of the last change of this service; the service with the lowest number is evicted first.
    var changed: UInt64 = 0
  }

  /// The maximum number of services, and the maximum number of crashes and of arrivals (attached processes) of one
  /// service.
  static let (serviceLimit, eventLimit) = (4_096, 64)
  /// The maximum time between a crash and an attach that counts as a restart after this crash.
  private static let longest_ns: UInt64 = 86_400_000_000_000

  private var services: [Service: Waiting] = [:]
  private var changes: UInt64 = 0

  /// Records that a process attached; returns the restart if a crash preceded it.
  mutating func arrive(_ service: Service, at time_ns: UInt64) -> Return? {
    change(service) { waiting in
      waiting.crashes.removeAll { time_ns > $0.end_ns && time_ns - $0.end_ns > Self.longest_ns }
      if let index = waiting.crashes.firstIndex(where: { $0.end_ns <= time_ns }) {
        let crash = waiting.crashes.remove(at: index)
        return Return(key: crash.key, time_ms: (time_ns - crash.end_ns) / 1_000_000)
      }
      if waiting.arrivals.count == Self.eventLimit { waiting.arrivals.removeFirst() }
      waiting.arrivals.append(time_ns)
      return nil
    }
  }

  /// Records that a crash ended a process; returns the restart if a new process has already attached.
  mutating func crash(_ service: Service, _ key: HealthKey, at end_ns: UInt64) -> Return? {
    change(service) { waiting in
      // Require a later time: an attach at exactly `end_ns` could be that of the crashed process itself.
      if let index = waiting.arrivals.firstIndex(where: { $0 > end_ns }) {
        let arrival = waiting.arrivals.remove(at: index)
        return Return(key: key, time_ms: (arrival - end_ns) / 1_000_000)
      }
      if waiting.crashes.count == Self.eventLimit { waiting.crashes.removeFirst() }
      waiting.crashes.append((end_ns, key))
      return nil
    }
  }

  private mutating func change(_ service: Service, _ body: (inout Waiting) -> Return?) -> Return? {
    if services[service] == nil, services.count >= Self.serviceLimit,
      let oldest = services.min(by: { $0.value.changed < $1.value.changed })
    {
      services[oldest.key] = nil
    }
    changes += 1
    services[service, default: Waiting()].changed = changes
    return body(&services[service, default: Waiting()])
  }
}

/// The histogram buckets for restart times, with four buckets for each doubling of the time.
enum ReturnBucket {
  private static let perDoubling = 4.0
  private static let most = ReportStore.healthLastBucket

  /// Returns the bucket that contains a time.
  static func of(_ time_ms: UInt64) -> Int {
    var (value, doublings) = (Double(time_ms) + 1, 0.0)
    while value >= 2 {
      value /= 2
      doublings += 1
    }
    return min(Int((doublings + value - 1) * perDoubling), most)
  }

  /// Returns the time in the middle of a bucket, in milliseconds.
  static func time_ms(_ bucket: Int) -> Double {
    let position = (Double(min(max(bucket, 0), most)) + 0.5) / perDoubling
    let doublings = position.rounded(.down)
    return (0..<Int(doublings)).reduce(1.0) { value, _ in value * 2 } * (1 + position - doublings) - 1
  }

  /// Returns the median of the times in a histogram; nil if the histogram is empty.
  static func median_ms(_ counts: [Int: Int]) -> Double? {
    let total = counts.values.reduce(0, +)
    guard total > 0 else { return nil }
    var left = (total + 1) / 2
    for (bucket, count) in counts.sorted(by: { $0.key < $1.key }) {
      left -= count
      if left <= 0 { return time_ms(bucket) }
    }
    return nil
  }
}
