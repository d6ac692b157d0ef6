internal import CrashShieldGuards
public import Metrics
internal import Synchronization

/// Tells a metrics backend what the shield counts in this process.
///
/// | metric | kind | dimensions |
/// |---|---|---|
/// | `crash_shield_guard_incidents` | counter | `kind`: the guard's |
/// | `crash_shield_dangling_uses` | counter | `class`, `kind`: how the dead object was touched |
/// | `crash_shield_incidents_lost` | counter | |
/// | `crash_shield_quarantine_bytes` | gauge | |
/// | `crash_shield_started` | gauge, 0 or 1 | |
///
/// The shield counts by itself; this only passes on what has come since the last time:
///
/// ```swift
/// let metrics = ShieldMetrics()
/// try await metrics.run(every: .seconds(10))  // until the task is cancelled
/// ```
///
/// In a `ServiceGroup` as `ClosureService { try await cancelWhenGracefulShutdown { await metrics.run() } }`. How many processes
/// crashed is crashd's to tell (`crashctl metrics`): a process that has crashed tells nobody.
public final class ShieldMetrics: Sendable {
  private let factory: any MetricsFactory
  private let prefix: String
  private let read: @Sendable () -> ShieldReading
  private let told = Mutex(Told())

  private struct Told {
    var counts: [ShieldReading.Key: Int] = [:]
    var counters: [ShieldReading.Key: Counter] = [:]
    var gauges: [ShieldReading.Key: Gauge] = [:]
  }

  /// Makes metrics for this backend; nothing is told before the first `update`.
  ///
  /// - Parameters:
  ///   - prefix: What stands in front of each name.
  ///   - factory: By default the one that `MetricsSystem` was started with.
  public convenience init(prefix: String = "crash_shield_", factory: any MetricsFactory = MetricsSystem.factory) {
    self.init(prefix: prefix, factory: factory, read: ShieldReading.now)
  }

  init(prefix: String, factory: any MetricsFactory, read: @escaping @Sendable () -> ShieldReading) {
    self.prefix = prefix
    self.factory = factory
    self.read = read
  }

  /// Passes on what has happened since the last call.
  ///
  /// Any thread; some microseconds, and more with many incidents.
  public func update() {
    // The backend is the program's code.
    holding { told.withLock { tell(&$0) } }
  }

  private func tell(_ told: inout Told) {
    // Read within the lock: of two callers the later one has the later reading.
    let reading = read()
    for (key, count) in reading.counts {
      let more = count - told.counts[key, default: 0]
      if more <= 0 { continue }
      told.counts[key] = count
      counter(key, &told).increment(by: more)
    }
    for (key, level) in reading.levels { gauge(key, &told).record(level) }
  }

  /// Updates at once and then in this rhythm until the task is cancelled, and a last time then.
  public func run(every interval: Duration = .seconds(10)) async {
    repeat { update() } while await Self.waits(interval)
    update()
  }

  /// Whether the time passed without the task being cancelled.
  private static func waits(_ interval: Duration) async -> Bool {
    do {
      try await Task.sleep(for: interval)
      return true
    } catch {
      return false
    }
  }

  private func counter(_ key: ShieldReading.Key, _ told: inout Told) -> Counter {
    if let known = told.counters[key] { return known }
    let made = Counter(label: prefix + key.label, dimensions: key.pairs, factory: factory)
    told.counters[key] = made
    return made
  }

  private func gauge(_ key: ShieldReading.Key, _ told: inout Told) -> Gauge {
    if let known = told.gauges[key] { return known }
    let made = Gauge(label: prefix + key.label, dimensions: key.pairs, factory: factory)
    told.gauges[key] = made
    return made
  }
}

extension ShieldReading.Key {
  fileprivate var pairs: [(String, String)] { dimensions.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }
}
