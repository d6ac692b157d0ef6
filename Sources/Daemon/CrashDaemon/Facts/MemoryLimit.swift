/// The memory limit of a process's control groups: the smallest one of its group and of those above it.
struct MemoryLimit: Sendable, Equatable {
  /// The directories of its groups, the innermost first.
  var directories: [String]
  /// The names of the files with the limit and with the memory that is used.
  var names: (limit: String, used: String) { isFirstVersion ? Self.firstVersion : Self.secondVersion }
  private var isFirstVersion: Bool

  private static let firstVersion = ("memory.limit_in_bytes", "memory.usage_in_bytes")
  private static let secondVersion = ("memory.max", "memory.current")
  /// Deeper groups are rare, and each costs a reading.
  private static let depthLimit = 16
  /// Version 1 writes no limit as a number of pages that no machine has.
  private static let none = 1 << 60

  /// Finds the groups by `/proc/PID/cgroup`; nil where none counts memory.
  init?(cgroups text: String) {
    for group in ControlGroup.list(text) {
      let parts = group.path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
      // A path outside of crashd's own namespace begins with `/..`.
      guard parts.count <= Self.depthLimit, !parts.contains("..") else { continue }
      let isFirstVersion = !group.controllers.isEmpty
      guard !isFirstVersion || group.controllers.split(separator: ",").contains("memory") else { continue }
      let root = isFirstVersion ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup"
      // The root of a namespace is the group of a container, with files of its own.
      directories = (0...parts.count).reversed().map { ([root] + parts.prefix($0)).joined(separator: "/") }
      self.isFirstVersion = isFirstVersion
      return
    }
    return nil
  }

  /// The limit now, and the directory of the group that has it; nil: there is none.
  func smallest(_ read: (String) -> String?) -> (bytes: Int, directory: String)? {
    var found: (bytes: Int, directory: String)?
    for directory in directories {
      guard let bytes = read("\(directory)/\(names.limit)").flatMap(Self.number), bytes < Self.none else { continue }
      if found.map({ bytes < $0.bytes }) ?? true { found = (bytes, directory) }
    }
    return found
  }

  /// What the processes of a group use.
  func used(in directory: String, _ read: (String) -> String?) -> Int? {
    read("\(directory)/\(names.used)").flatMap(Self.number)
  }

  /// A number alone in a file; nil for anything else, such as `max`.
  private static func number(_ text: String) -> Int? {
    Int(text.prefix { $0 != "\n" }).flatMap { $0 >= 0 ? $0 : nil }
  }
}
