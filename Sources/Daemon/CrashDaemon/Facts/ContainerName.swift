import CrashReport

/// Finds the id of a process's container in the names of control groups and mounts, where container engines write it.
///
/// A user who may create control groups can choose their names. For this reason crashd only prints the id in a report,
/// and decides nothing by it. Of nested containers, the innermost is reported.
enum ContainerName {
  private static let digits = 64
  /// The prefixes of scopes by engine, such as `cri-containerd-ID.scope`.
  private static let scopes = [
    "docker": "docker", "cri-containerd": "containerd", "nerdctl": "containerd", "crio": "cri-o", "libpod": "podman",
  ]
  /// The parent directories of control groups whose whole name is the id, by engine.
  private static let directories = ["docker": "docker", "libpod_parent": "podman"]
  /// The prefixes of scopes that hold an engine's own processes.
  private static let monitors: Set = ["crio-conmon", "libpod-conmon"]
  /// The directories in which an engine keeps the files that it mounts into its containers.
  private static let mounts = ["containers": "docker", "overlay-containers": "podman"]

  /// Finds the container in the text of `/proc/PID/cgroup`: in the innermost part of a path that an engine has named.
  static func of(cgroups text: String) -> CrashReport.Container? {
    for group in ControlGroup.list(text) {
      let parts = group.path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
      for (index, part) in parts.enumerated().reversed() {
        guard let (id, prefix) = id(in: part), !monitors.contains(prefix) else { continue }
        let parent = index > 0 ? parts[index - 1] : ""
        return CrashReport.Container(
          id: id, runtime: scopes[prefix] ?? (prefix.isEmpty ? directories[parent] : nil), source: "cgroup")
      }
    }
    return nil
  }

  /// Finds the container in the text of `/proc/PID/mountinfo`, where the control group does not name it.
  ///
  /// A file such as `/var/lib/docker/containers/ID/hostname` is mounted into the container.
  ///
  /// Only a crashd inside the container needs this function, for example a sidecar that is not in the host's cgroup
  /// namespace.
  static func of(mounts text: String) -> CrashReport.Container? {
    for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
      // ID PARENT DEVICE ROOT MOUNTPOINT … (proc_pid_mountinfo(5)).
      let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 5)
      guard fields.count > 4, fields[4].elementsEqual("/etc/hostname".utf8) else { continue }
      let parts = fields[3].split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
      for (parent, part) in zip(parts, parts.dropFirst()) {
        if let runtime = mounts[parent], let (id, prefix) = id(in: part), prefix.isEmpty {
          return CrashReport.Container(id: id, runtime: runtime, source: "mountinfo")
        }
      }
    }
    return nil
  }

  /// The id at the end of a name, and the prefix before the `-` or `:` that precedes the id; nil if the name has no id.
  private static func id(in name: String) -> (String, prefix: String)? {
    let scope = Array(".scope".utf8)
    var bytes = Array(name.utf8)
    if bytes.suffix(scope.count).elementsEqual(scope) { bytes.removeLast(scope.count) }
    guard bytes.count >= digits, bytes.suffix(digits).allSatisfy(isDigit) else { return nil }
    let id = String(decoding: bytes.suffix(digits), as: UTF8.self)
    let rest = bytes.dropLast(digits)
    guard let mark = rest.last else { return (id, "") }
    guard mark == UInt8(ascii: "-") || mark == UInt8(ascii: ":") else { return nil }
    // containerd names a group SLICE:PREFIX:ID.
    let prefix = rest.dropLast().split(separator: UInt8(ascii: ":")).last ?? []
    return (id, String(decoding: prefix, as: UTF8.self))
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
    default: false
    }
  }
}
