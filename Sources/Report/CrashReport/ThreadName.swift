/// Converts the names of threads to names for people.
///
/// libdispatch names its workers after their root queue. On Linux only the last 15 bytes of that name are kept.
enum ThreadName {
  private static let bytes = 15
  private static let qualities = [
    "maintenance", "background", "utility", "default", "user-initiated", "user-interactive",
  ]

  private static let workers: [String: String] = {
    var names: [String: String] = [:]
    for quality in qualities {
      for kind in ["", ".overcommit", ".cooperative"] {
        let label = String("com.apple.root.\(quality)-qos\(kind)".suffix(bytes))
        // If two labels have the same last 15 bytes, the quality of service is unknown.
        names[label] = names[label] == nil ? "Dispatch worker, \(quality) QoS" : "Dispatch worker"
      }
    }
    return names
  }()

  /// Returns a name such as `Dispatch worker, default QoS` for `oot.default-qos`.
  ///
  /// Returns nil for a name that a program chose.
  static func worker(_ name: String) -> String? { workers[name] }
}
