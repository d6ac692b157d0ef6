internal import CrashShieldGuards
public import Metrics
internal import Synchronization

/// Publishes the shield's counters of this process to a metrics backend.
///
/// | metric | kind | dimensions |
/// |---|---|---|
/// | `crash_shield_guard_incidents` | counter | `kind`: the guard kind |
/// | `crash_shield_dangling_uses` | counter | `class`, `kind`: the access kind of the use-after-free |
/// | `crash_shield_incidents_lost` | counter | |
/// | `crash_shield_quarantine_bytes` | gauge | |
/// | `crash_shield_started` | gauge, 0 or 1 | |
///
/// The shield counts the events, and this type publishes the increase since the last update:
///
/// ```swift
/// let metrics = ShieldMetrics()
/// try await metrics.run(every: .seconds(10))  // until the task is cancelled
/// ```
///
/// In a `ServiceGroup`, `ShieldService` of `CrashShieldLifecycle` runs the updates. A crashed process cannot publish
/// metrics; crashd counts the crashes (`crashctl metrics`).
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

  /// Creates metrics for this backend; the first `update` publishes the first values.
  ///
  /// - Parameters:
  ///   - prefix: The prefix of each name.
  ///   - factory: The backend's factory; by default the one that `MetricsSystem` was bootstrapped with.
  public convenience init(prefix: String = "crash_shield_", factory: any MetricsFactory = MetricsSystem.factory) {
    self.init(prefix: prefix, factory: factory, read: ShieldReading.now)
  }

  init(prefix: String, factory: any MetricsFactory, read: @escaping @Sendable () -> ShieldReading) {
    self.prefix = prefix
    self.factory = factory
    self.read = read
  }

  /// Publishes the increase since the last call.
  ///
  /// May be called from any thread. The call takes some microseconds, or more if there are many incidents.
  public func update() {
    // The backend is code of the program. `holding` suspends containment, because a contained trap in the backend would
    // leave the mutex locked.
    holding { told.withLock { tell(&$0) } }
  }

  private func tell(_ told: inout Told) {
    // Read the counters inside the lock: of two concurrent callers, the caller that publishes last then also has the
    // newest values.
    let reading = read()
    for (key, count) in reading.counts {
      let more = count - told.counts[key, default: 0]
      if more <= 0 { continue }
      told.counts[key] = count
      counter(key, &told).increment(by: more)
    }
    for (key, level) in reading.levels { gauge(key, &told).record(level) }
  }

  /// The allowed intervals between two updates.
  ///
  /// The upper limit exists because `Task.sleep` traps for a deadline beyond the clock's range. The lower limit exists
  /// because updates without a pause would occupy a core.
  private static let intervals = Duration.milliseconds(100)...Duration.seconds(365 * 86_400)

  /// Updates at once, then at this interval until the task is cancelled, and once more after the cancellation.
  ///
  /// - Parameter interval: From 100 milliseconds to a year. Values outside of this range are clamped to it.
  public func run(every interval: Duration = .seconds(10)) async {
    repeat { update() } while await Self.waits(interval)
    update()
  }

  /// Whether the interval passed before the task was cancelled.
  private static func waits(_ interval: Duration) async -> Bool {
    do {
      try await Task.sleep(for: min(max(interval, intervals.lowerBound), intervals.upperBound))
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
