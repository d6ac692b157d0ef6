import CrashReport

/// The counter of kills by the OOM killer in one control group.
struct MemoryEvents: Sendable, Equatable {
  /// The path of the control group, relative to the root of its hierarchy.
  var cgroup: String
  /// The path of the file that contains the counter.
  var path: String
  /// The key in front of the counter in the file at `path`.
  private static let word = "oom_kill"

  /// The value of the counter when the process attached.
  var oomKills: Int

  /// Finds the OOM kill counter of a process: the counter of its first control group that has such a counter.
  /// - Parameters:
  ///   - text: The content of `/proc/PID/cgroup`.
  ///   - read: Reads the file at a path; returns nil if the file cannot be read.
  /// - Returns: The counter; nil if no control group of the process has a counter.
  static func of(cgroups text: String, read: (String) -> String?) -> MemoryEvents? {
    for found in ControlGroup.list(text) {
      // Skip a path that begins with `/..`, because it is outside of crashd's cgroup namespace.
      guard !found.path.utf8.split(separator: UInt8(ascii: "/")).contains(where: { $0.elementsEqual("..".utf8) }) else {
        continue
      }
      let group = found.path == "/" ? "" : String(found.path)
      let files: [String]
      if found.controllers.isEmpty {
        // Try the file with the suffix `.local` first, which counts only the OOM kills in the group itself, and not
        // those in its child groups.
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

  /// Whether inotify reports changes of the file.
  ///
  /// The kernel supports inotify only for the files of cgroup version 2.
  var tellsOfChanges: Bool { !path.hasSuffix("/memory.oom_control") }

  /// Reads the counter from a file; nil if the file no longer exists because the group was removed.
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

/// A line of `/proc/PID/cgroup`, which has the form `HIERARCHY:CONTROLLERS:PATH` (cgroups(7)).
///
/// The code splits the line at bytes and not at characters, because a path can contain any bytes. Splitting at bytes is
/// also faster than splitting at characters, and crashd parses these lines at each attach.
struct ControlGroup {
  /// The controllers of the hierarchy; empty for the hierarchy of cgroup version 2.
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
