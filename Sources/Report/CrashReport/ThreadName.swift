/// Names of threads for people.
///
/// libdispatch names its workers after their root queue, and on Linux keeps only the last 15 bytes of that name.
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
        // The end of a longer label does not tell the quality of service.
        names[label] = names[label] == nil ? "Dispatch worker, \(quality) QoS" : "Dispatch worker"
      }
    }
    return names
  }()

  /// Such as `Dispatch worker, default QoS` for `oot.default-qos`; nil for a name that a program gave.
  static func worker(_ name: String) -> String? { workers[name] }
}
