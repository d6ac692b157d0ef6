/// Converts thread names into readable names.
///
/// libdispatch names each worker thread after its root queue. Linux limits thread names, so only the last 15 bytes of
/// that name are kept.
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
        // Omit the quality of service if two labels have the same last 15 bytes, because the thread name then does not
        // show from which label it comes.
        names[label] = names[label] == nil ? "Dispatch worker, \(quality) QoS" : "Dispatch worker"
      }
    }
    return names
  }()

  /// Returns a name such as `Dispatch worker, default QoS` for `oot.default-qos`.
  ///
  /// Returns nil if the name is not a libdispatch worker's name.
  static func worker(_ name: String) -> String? { workers[name] }
}
