import CrashReport

/// The systemd unit of a process.
enum ProcessUnit {
  /// Reads `/proc/PID/cgroup`; nil when the process is in no service, or gone.
  static func of(pid: Int32) -> String? {
    SmallFile.text(at: "/proc/\(pid)/cgroup").flatMap(parse)
  }

  /// The innermost `….service` of systemd's hierarchy: cgroup v2's line `0::PATH`, else v1's `name=systemd`.
  static func parse(_ text: String) -> String? {
    let lines = text.split(separator: "\n").map {
      $0.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
    }
    let named = lines.filter { $0.count == 3 && ($0[1].isEmpty || $0[1] == "name=systemd") }
    for line in named.sorted(by: { $0[1].count > $1[1].count }) {
      let unit = line[2].split(separator: "/").last { $0.hasSuffix(".service") }
      // A user names the groups below his own session as he likes.
      if let unit { return CleanText.line(String(unit)) }
    }
    return nil
  }
}
