import CrashReport

/// Finds the id of a process's container: container engines name control groups and mounts by it.
///
/// A user who may make control groups can choose such a name. So the id describes the user's own report, and decides
/// nothing. Of nested containers the innermost counts.
enum ContainerName {
  private static let digits = 64
  /// The prefixes of scopes by engine, such as `cri-containerd-ID.scope`.
  private static let scopes = [
    "docker": "docker", "cri-containerd": "containerd", "nerdctl": "containerd", "crio": "cri-o", "libpod": "podman",
  ]
  /// The directories of engines that name a group by the id alone.
  private static let directories = ["docker": "docker", "libpod_parent": "podman"]
  /// The scopes of an engine's own processes.
  private static let monitors: Set = ["crio-conmon", "libpod-conmon"]
  /// The directories of containers' own files, which the engine mounts into the container.
  private static let mounts = ["containers": "docker", "overlay-containers": "podman"]

  /// By `/proc/PID/cgroup`: the innermost part of a path that an engine has named.
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

  /// By `/proc/PID/mountinfo`, where the control group says nothing: a file such as
  /// `/var/lib/docker/containers/ID/hostname` that is mounted into the container.
  ///
  /// Only for a process that crashd sees from within the container, as in a sidecar without a cgroup namespace of the
  /// host.
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

  /// The id at the end of a name, and what stands before its `-` or `:`; nil where it has none.
  private static func id(in name: String) -> (String, prefix: String)? {
    let scope = Array(".scope".utf8)
    var bytes = Array(name.utf8)
    if bytes.suffix(scope.count).elementsEqual(scope) { bytes.removeLast(scope.count) }
    guard bytes.count >= digits, bytes.suffix(digits).allSatisfy(isDigit) else { return nil }
    let id = String(decoding: bytes.suffix(digits), as: UTF8.self)
    let rest = bytes.dropLast(digits)
    guard let mark = rest.last else { return (id, "") }
    guard mark == UInt8(ascii: "-") || mark == UInt8(ascii: ":") else { return nil }
    // containerd's own name of a group: SLICE:PREFIX:ID.
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
