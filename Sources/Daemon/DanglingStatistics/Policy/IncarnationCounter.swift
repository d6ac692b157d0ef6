/// Decides which crashes count: distinct incarnations, and of a restart loop one per hour.
///
/// The detector's guarantee holds for independent events. A process that crashes in four threads, or a service that is
/// restarted into the same crash each second, would cause an alarm by itself. With counts whose variance is three times
/// their mean, the guaranteed year shrinks to seven weeks.
public struct IncarnationCounter: Sendable, Hashable, Codable {
  /// The most incarnations and instances that are remembered.
  public static let memoryLimit = 4_096

  /// When each incarnation crashed.
  private var incarnations: [String: Double] = [:]
  /// When a crash of each instance last counted.
  private var instances: [String: Double] = [:]

  /// Nothing counted yet.
  public init() {}

  /// Whether this crash counts.
  ///
  /// An incarnation is one life of a process; an instance is what is restarted: a unit, a container, a slot of a pool.
  public mutating func counts(incarnation: String, instance: String, at time_s: Double, crashLoop_s: Double) -> Bool {
    if incarnations.updateValue(time_s, forKey: incarnation) != nil { return false }
    Self.limit(&incarnations)
    // Since the last one that counted: a loop that lasts for days counts once in each window.
    if let last = instances[instance], time_s >= last, time_s - last < crashLoop_s { return false }
    instances[instance] = time_s
    Self.limit(&instances)
    return true
  }

  /// Forgets the older half when there are too many.
  private static func limit(_ times: inout [String: Double]) {
    guard times.count > memoryLimit else { return }
    let kept = times.sorted { $0.value > $1.value }.prefix(memoryLimit / 2)
    times = Dictionary(kept.map { ($0.key, $0.value) }) { first, _ in first }
  }
}
