import CrashReport

/// Finds the ID of the container in which a process runs.
///
/// The ID is a part of the names of control groups and mounts, which container engines choose.
///
/// A user who may create control groups can choose these names, too. Therefore, crashd only prints the ID in the
/// report, and makes no decision with it. If containers are nested, the result is the innermost container.
enum ContainerName {
  private static let digits = 64
  /// The names of the container engines by the prefixes of their systemd scopes.
  ///
  /// An example of a scope is `cri-containerd-ID.scope`.
  private static let scopes = [
    "docker": "docker", "cri-containerd": "containerd", "nerdctl": "containerd", "crio": "cri-o", "libpod": "podman",
  ]
  /// The names of the container engines by the parent directories of their containers' control groups.
  ///
  /// The whole name of a control group in such a directory is the container's ID.
  private static let directories = ["docker": "docker", "libpod_parent": "podman"]
  /// The prefixes of the scopes in which the engines' own processes run.
  private static let monitors: Set = ["crio-conmon", "libpod-conmon"]
  /// The names of the container engines by the directories whose files the engines mount into containers.
  private static let mounts = ["containers": "docker", "overlay-containers": "podman"]

  /// Finds the container in the text of `/proc/PID/cgroup`: the innermost path component that a container engine has
  /// named.
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

  /// Finds the container in the text of `/proc/PID/mountinfo`, for processes whose control group does not name the
  /// container.
  ///
  /// Container engines mount a file such as `/var/lib/docker/containers/ID/hostname` into the container. This function
  /// is needed if crashd runs inside a container and not in the host's cgroup namespace, for example as a sidecar.
  static func of(mounts text: String) -> CrashReport.Container? {
    for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
      // A line consists of the fields ID PARENT DEVICE ROOT MOUNTPOINT … (proc_pid_mountinfo(5)).
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

  /// Returns the ID at the end of a name, and the prefix before the ID; nil if the name does not end with an ID.
  ///
  /// A `-` or `:` separates the prefix from the ID.
  private static func id(in name: String) -> (String, prefix: String)? {
    let scope = Array(".scope".utf8)
    var bytes = Array(name.utf8)
    if bytes.suffix(scope.count).elementsEqual(scope) { bytes.removeLast(scope.count) }
    guard bytes.count >= digits, bytes.suffix(digits).allSatisfy(isDigit) else { return nil }
    let id = String(decoding: bytes.suffix(digits), as: UTF8.self)
    let rest = bytes.dropLast(digits)
    guard let mark = rest.last else { return (id, "") }
    guard mark == UInt8(ascii: "-") || mark == UInt8(ascii: ":") else { return nil }
    // containerd names a control group SLICE:PREFIX:ID.
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
