/// Decides which crashes count.
///
/// Each incarnation counts once, and a restart loop counts once in each time window.
///
/// The guarantee of the detector holds only for independent events. A process that crashes in four threads, or a
/// service that is restarted into the same crash every second, would cause an alarm alone. If the variance of the
/// counts is three times their mean, the guaranteed year without a false alarm shrinks to seven weeks.
public struct IncarnationCounter: Sendable, Hashable, Codable {
  /// The limit of remembered incarnations, and of remembered instances.
  public static let memoryLimit = 4_096

  /// The time at which each incarnation crashed.
  private var incarnations: [String: Double] = [:]
  /// The time of the last crash that counted, for each instance.
  private var instances: [String: Double] = [:]

  /// Makes a counter without crashes.
  public init() {}

  /// Records a crash, and returns whether it counts.
  ///
  /// An incarnation is one run of a process. An instance is the thing that is restarted, such as a unit, a container,
  /// or a slot of a pool.
  public mutating func counts(incarnation: String, instance: String, at time_s: Double, crashLoop_s: Double) -> Bool {
    if incarnations.updateValue(time_s, forKey: incarnation) != nil { return false }
    Self.limit(&incarnations)
    // The window begins at the last crash that counted, so a loop that lasts for days counts once in each window.
    if let last = instances[instance], time_s >= last, time_s - last < crashLoop_s { return false }
    instances[instance] = time_s
    Self.limit(&instances)
    return true
  }

  /// Removes the older half if there are too many entries.
  private static func limit(_ times: inout [String: Double]) {
    guard times.count > memoryLimit else { return }
    let kept = times.sorted { $0.value > $1.value }.prefix(memoryLimit / 2)
    times = Dictionary(kept.map { ($0.key, $0.value) }) { first, _ in first }
  }
}
