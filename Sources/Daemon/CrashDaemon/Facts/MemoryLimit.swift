/// The memory limit of a process, which is the smallest limit of its control group and of this group's ancestors.
struct MemoryLimit: Sendable, Equatable {
  /// The directories of the control groups, innermost first.
  var directories: [String]
  /// The name of the control group's file with the memory limit, and the name of the file with the memory usage.
  var names: (limit: String, used: String) { isFirstVersion ? Self.firstVersion : Self.secondVersion }
  private var isFirstVersion: Bool

  private static let firstVersion = ("memory.limit_in_bytes", "memory.usage_in_bytes")
  private static let secondVersion = ("memory.max", "memory.current")
  /// The maximum depth of a control group in the hierarchy.
  ///
  /// For a process in a deeper group, crashd ignores the limits of control groups, because it would have to read a file
  /// for each level. Such groups are rare.
  private static let depthLimit = 16
  /// The smallest value that is treated as "no limit", because cgroup version 1 prints a very large number if there is
  /// no limit.
  private static let none = 1 << 60

  /// Finds the control groups of a process in the text of `/proc/PID/cgroup`; nil if crashd can use none of them.
  init?(cgroups text: String) {
    for group in ControlGroup.list(text) {
      let parts = group.path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
      // Skip a path that begins with `/..`, because it is outside of crashd's cgroup namespace.
      guard parts.count <= Self.depthLimit, !parts.contains("..") else { continue }
      let isFirstVersion = !group.controllers.isEmpty
      guard !isFirstVersion || group.controllers.split(separator: ",").contains("memory") else { continue }
      let root = isFirstVersion ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup"
      // The directories include the root group. In a cgroup namespace, the root group is the group of the container,
      // which has a memory limit.
      directories = (0...parts.count).reversed().map { ([root] + parts.prefix($0)).joined(separator: "/") }
      self.isFirstVersion = isFirstVersion
      return
    }
    return nil
  }

  /// Returns the current limit, and the directory of the group with this limit; nil if there is no limit.
  func smallest(_ read: (String) -> String?) -> (bytes: Int, directory: String)? {
    var found: (bytes: Int, directory: String)?
    for directory in directories {
      guard let bytes = read("\(directory)/\(names.limit)").flatMap(Self.number), bytes < Self.none else { continue }
      if found.map({ bytes < $0.bytes }) ?? true { found = (bytes, directory) }
    }
    return found
  }

  /// Returns the number of bytes of memory that the processes of a control group use.
  func used(in directory: String, _ read: (String) -> String?) -> Int? {
    read("\(directory)/\(names.used)").flatMap(Self.number)
  }

  /// Parses a file that consists of one number; nil for other contents, such as the word `max`.
  private static func number(_ text: String) -> Int? {
    Int(text.prefix { $0 != "\n" }).flatMap { $0 >= 0 ? $0 : nil }
  }
}
