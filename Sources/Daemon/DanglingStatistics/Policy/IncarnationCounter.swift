/// Decides which crashes the detector counts as independent events.
///
/// Each incarnation (one run of a process) counts once, and a restart loop counts once in each time window. This is
/// necessary because the guarantee of the detector (`ShiryaevRoberts`) holds only for independent events. Otherwise,
/// one process that crashes in four threads would be enough for an alarm. One service that crashes again one second
/// after each restart would also be enough. For example, if the variance of the counts is three times their mean
/// because the events are not independent, the guaranteed time without a false alarm decreases from a year to seven
/// weeks.
public struct IncarnationCounter: Sendable, Hashable, Codable {
  /// The maximum number of incarnations that are remembered, and also the maximum number of instances.
  public static let memoryLimit = 4_096

  /// The time of the crash of each incarnation.
  private var incarnations: [String: Double] = [:]
  /// The time of each instance's last crash that was counted.
  private var instances: [String: Double] = [:]

  /// Makes a counter without crashes.
  public init() {}

  /// Records a crash, and returns whether the detector should count it.
  ///
  /// An incarnation is one run of a process. An instance is the entity that is restarted after a crash, such as a unit,
  /// a container, or a slot of a process pool.
  public mutating func counts(incarnation: String, instance: String, at time_s: Double, crashLoop_s: Double) -> Bool {
    if incarnations.updateValue(time_s, forKey: incarnation) != nil { return false }
    Self.limit(&incarnations)
    // The time window begins at the last crash that was counted. Therefore, a restart loop that lasts for days counts
    // once in each window.
    if let last = instances[instance], time_s >= last, time_s - last < crashLoop_s { return false }
    instances[instance] = time_s
    Self.limit(&instances)
    return true
  }

  /// Removes the older half of the entries if there are too many entries.
  private static func limit(_ times: inout [String: Double]) {
    guard times.count > memoryLimit else { return }
    let kept = times.sorted { $0.value > $1.value }.prefix(memoryLimit / 2)
    times = Dictionary(kept.map { ($0.key, $0.value) }) { first, _ in first }
  }
}
