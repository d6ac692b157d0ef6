import CrashReport

/// How often the kernel killed a process of a control group because memory had run out.
struct MemoryEvents: Sendable, Equatable {
  /// The group's path below its hierarchy.
  var cgroup: String
  /// The file that counts.
  private var path: String
  /// The word before the number there.
  private static let word = "oom_kill"

  /// What it said when the process attached.
  var oomKills: Int

  /// Looks at the group of a process; nil where nobody counts for it.
  static func of(pid: Int32) -> MemoryEvents? {
    SmallFile.text(at: "/proc/\(pid)/cgroup").flatMap { of(cgroups: $0) { SmallFile.text(at: $0) } }
  }

  /// The counter of the first control group that has one.
  /// - Parameters:
  ///   - text: `/proc/PID/cgroup`.
  ///   - read: A file's text.
  /// - Returns: It; nil where nobody counts.
  static func of(cgroups text: String, read: (String) -> String?) -> MemoryEvents? {
    for line in text.split(separator: "\n") {
      let fields = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
      // A path outside of our own namespace begins with `/..`.
      guard fields.count == 3, !fields[2].split(separator: "/").contains("..") else { continue }
      let group = fields[2] == "/" ? "" : fields[2]
      let files: [String]
      if fields[1].isEmpty {
        // `.local` counts the group alone, without those below it.
        files = ["", "/unified"].flatMap { root in
          ["memory.events.local", "memory.events"].map { "/sys/fs/cgroup\(root)\(group)/\($0)" }
        }
      } else if fields[1].split(separator: ",").contains("memory") {
        files = ["/sys/fs/cgroup/memory\(group)/memory.oom_control"]
      } else {
        continue
      }
      for file in files {
        if let count = read(file).flatMap(count) {
          return MemoryEvents(cgroup: CleanText.line(fields[2]), path: file, oomKills: count)
        }
      }
    }
    return nil
  }

  /// How many came since; nil when the group is gone.
  func increase() -> Int? {
    guard let now = SmallFile.text(at: path).flatMap(Self.count) else { return nil }
    return max(0, now - oomKills)
  }

  private static func count(in text: String) -> Int? {
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ")
      if words.count == 2, words[0] == word { return Int(words[1]).flatMap { $0 >= 0 ? $0 : nil } }
    }
    return nil
  }
}
