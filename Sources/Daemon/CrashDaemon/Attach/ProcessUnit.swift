import CrashReport

/// The systemd unit of a process.
enum ProcessUnit {
  /// The innermost `….service` of systemd's hierarchy: cgroup v2's line `0::PATH`, else v1's `name=systemd`.
  static func parse(_ text: String) -> String? {
    let named = ControlGroup.list(text).filter { $0.controllers.isEmpty || $0.controllers == "name=systemd" }
    for group in named.sorted(by: { $0.controllers.utf8.count > $1.controllers.utf8.count }) {
      let names = group.path.utf8.split(separator: UInt8(ascii: "/")).map(Substring.init)
      let unit = names.last { $0.hasSuffix(".service") }
      // A user chooses the names of the groups below its own session.
      if let unit { return CleanText.line(String(unit)) }
    }
    return nil
  }
}
