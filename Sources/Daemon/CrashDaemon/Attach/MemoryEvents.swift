import CrashReport

/// How often the kernel killed a process of a control group for lack of memory (OOM).
struct MemoryEvents: Sendable, Equatable {
  /// The group's path below its hierarchy.
  var cgroup: String
  /// The file of the counter.
  var path: String
  /// The key before the number there.
  private static let word = "oom_kill"

  /// The counter when the process attached.
  var oomKills: Int

  /// Finds the counter of the first control group that has one.
  /// - Parameters:
  ///   - text: `/proc/PID/cgroup`.
  ///   - read: Reads a file.
  /// - Returns: The counter; nil where there is none.
  static func of(cgroups text: String, read: (String) -> String?) -> MemoryEvents? {
    for found in ControlGroup.list(text) {
      // A path outside of crashd's own namespace begins with `/..`.
      guard !found.path.utf8.split(separator: UInt8(ascii: "/")).contains(where: { $0.elementsEqual("..".utf8) }) else {
        continue
      }
      let group = found.path == "/" ? "" : String(found.path)
      let files: [String]
      if found.controllers.isEmpty {
        // `.local` counts the group alone, without those below it.
        files = ["", "/unified"].flatMap { root in
          ["memory.events.local", "memory.events"].map { "/sys/fs/cgroup\(root)\(group)/\($0)" }
        }
      } else if found.controllers.split(separator: ",").contains("memory") {
        files = ["/sys/fs/cgroup/memory\(group)/memory.oom_control"]
      } else {
        continue
      }
      for file in files {
        if let count = read(file).flatMap({ count(in: $0) }) {
          return MemoryEvents(cgroup: CleanText.line(String(found.path)), path: file, oomKills: count)
        }
      }
    }
    return nil
  }

  /// Whether the kernel reports a change of the file by inotify: version 2 does, version 1 does not.
  var tellsOfChanges: Bool { !path.hasSuffix("/memory.oom_control") }

  /// The current counter of a file; nil when the file is gone, and with it the group.
  static func count(at path: String) -> Int? { SmallFile.text(at: path).flatMap { count(in: $0) } }

  private static func count(in text: String) -> Int? {
    for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
      let words = line.split(separator: UInt8(ascii: " "))
      guard words.count == 2, words[0].elementsEqual(word.utf8) else { continue }
      return Int(Substring(words[1])).flatMap { $0 >= 0 ? $0 : nil }
    }
    return nil
  }
}

/// A line of `/proc/PID/cgroup`: `HIERARCHY:CONTROLLERS:PATH` (cgroups(7)).
///
/// Split by bytes: a path may contain anything, and every attach does this.
struct ControlGroup {
  /// Empty for version 2's hierarchy.
  var controllers: Substring
  var path: Substring

  static func list(_ text: String) -> [ControlGroup] {
    text.utf8.split(separator: UInt8(ascii: "\n")).compactMap { line in
      let fields = line.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
      guard fields.count == 3 else { return nil }
      return ControlGroup(controllers: Substring(fields[1]), path: Substring(fields[2]))
    }
  }
}
