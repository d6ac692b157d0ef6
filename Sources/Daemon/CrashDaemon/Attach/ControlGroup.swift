/// A line of `/proc/PID/cgroup`: `HIERARCHY:CONTROLLERS:PATH` (cgroups(7)).
///
/// Split by bytes: a path may have anything in it, and this is done for each process that attaches.
struct ControlGroup {
  /// None for version 2's hierarchy.
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
