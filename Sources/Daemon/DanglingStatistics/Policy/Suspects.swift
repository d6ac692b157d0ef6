/// The classes that an alarm or a hit (a detected access) listed, each with the time of its last crash or hit; and the
/// recent crashes.
struct Suspects: Sendable, Hashable, Codable {
  /// The maximum number of classes that are remembered.
  ///
  /// If there are more classes, the class that has not been named for the longest time is removed.
  static let limit = 256
  /// The maximum number of recent crashes that are remembered.
  static let recentLimit = 64
  static let recent_days = 14.0

  private struct Crash: Hashable, Codable, Sendable {
    var time_s: Double
    var className: String?
  }

  private(set) var classes: [String: Double] = [:]
  private var recent: [Crash] = []

  /// The number of crashes that the `PolicyLoop` counted in the last two weeks, at most `recentLimit`.
  var recentCrashes: Int { recent.count }
  /// Whether at least one crash of the last two weeks did not name a class.
  var hasUnknownClass: Bool { recent.contains { $0.className == nil } }
  /// The classes that the crashes of the last two weeks named.
  var recentClasses: Set<String> { Set(recent.compactMap(\.className)) }

  mutating func observeCrash(className: String?, at time_s: Double) {
    recent.append(Crash(time_s: time_s, className: className))
    recent.removeAll { time_s - $0.time_s > Self.recent_days * 86_400 }
    if recent.count > Self.recentLimit { recent.removeFirst(recent.count - Self.recentLimit) }
    // If the class is already listed, update the time when it was last named.
    if let className, classes[className] != nil { classes[className] = time_s }
  }

  mutating func list(_ names: some Sequence<String>, at time_s: Double) {
    for name in names { classes[name] = time_s }
    while classes.count > Self.limit, let oldest = classes.min(by: { ($0.value, $0.key) < ($1.value, $1.key) }) {
      classes[oldest.key] = nil
    }
  }

  /// Removes and returns the classes that have had no crash and no hit for the given number of days.
  mutating func release(silentFor days: Double, at time_s: Double) -> [String] {
    let silent = classes.filter { time_s - $0.value > days * 86_400 }.keys.sorted()
    for name in silent { classes[name] = nil }
    return silent
  }
}
