import CrashStore

/// Measures how long a program was away after a crash: from the end of a process to the next attach.
///
/// A process replaces a crashed one if it has the same user, executable and unit. The events may arrive in any order,
/// because crashd learns the end of a process only after its parent has reaped it.
struct ReturnTimes: Sendable {
  /// What a supervisor starts again.
  struct Service: Hashable, Sendable {
    var program: ServiceKey
    var unit: String?

    init(_ facts: ProcessFacts) { (program, unit) = (ServiceKey(facts), facts.unit) }
  }

  /// A program that is back.
  struct Return: Sendable, Equatable {
    /// The build that crashed.
    var key: HealthKey
    var time_ms: UInt64
  }

  private struct Waiting: Sendable {
    var crashes: [(end_ns: UInt64, key: HealthKey)] = []
    var arrivals: [UInt64] = []
  }

  /// The maximum numbers of services, and of crashes and arrivals of one service.
  private static let (serviceLimit, eventLimit) = (4_096, 64)
  /// The longest time that is still a return.
  private static let longest_ns: UInt64 = 86_400_000_000_000

  private var services: [Service: Waiting] = [:]

  /// Adds a process that attached.
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

  /// Adds a process that a crash ended.
  mutating func crash(_ service: Service, _ key: HealthKey, at end_ns: UInt64) -> Return? {
    change(service) { waiting in
      // The crashed process itself may have arrived at `end_ns`.
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
    if services[service] == nil, services.count >= Self.serviceLimit { services = [:] }
    return body(&services[service, default: Waiting()])
  }
}

/// The buckets of return times: four for each doubling of the time.
enum ReturnBucket {
  private static let perDoubling = 4.0
  private static let most = 120

  /// Returns the bucket of a time.
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

  /// Returns the median of times that are counted by bucket; nil if there are none.
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
