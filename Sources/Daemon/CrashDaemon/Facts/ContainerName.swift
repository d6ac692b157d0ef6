import CrashReport

/// Finds the ID of the container in which a process runs.
///
/// The ID is a part of the names of control groups and mounts, and container engines choose these names.
///
/// A user who is allowed to create control groups can choose such names, too. Therefore, crashd only prints the ID in
/// the report, and makes no decision with it. If containers are nested, the result is the innermost container.
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
  /// In such a directory, the name of a control group is the container's ID.
  private static let directories = ["docker": "docker", podDirectory: "podman"]
  /// The parent directory of podman's pods, and of podman's containers without a pod, with the cgroup driver cgroupfs.
  private static let podDirectory = "libpod_parent"
  /// The prefixes of the scopes in which the container engines' own monitor processes run.
  private static let monitors: Set = ["crio-conmon", "libpod-conmon"]
  /// The name of the container engine for each directory from which an engine mounts files into containers.
  private static let mounts = ["containers": "docker", "overlay-containers": "podman"]

  /// Finds the container in the text of `/proc/PID/cgroup`: the innermost path component that a container engine has
  /// named.
  static func of(cgroups text: String) -> CrashReport.Container? {
    for group in ControlGroup.list(text) {
      let parts = group.path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
      for (index, part) in parts.enumerated().reversed() {
        guard let (id, prefix) = id(in: part), !monitors.contains(prefix) else { continue }
        let parent = index > 0 ? parts[index - 1] : ""
        // Skip a name without a prefix in the directory of podman's pods, because it is the ID of a pod.
        if prefix.isEmpty, parent == podDirectory, index + 1 < parts.count { continue }
        return CrashReport.Container(
          id: id, runtime: scopes[prefix] ?? (prefix.isEmpty ? directories[parent] : nil), source: "cgroup",
          podUID: PodName.of(groups: parts[...index]))
      }
    }
    return nil
  }

  /// Finds the container and the pod in the text of `/proc/PID/mountinfo`, for processes whose control group does not
  /// name both.
  ///
  /// Container engines mount a file such as `/var/lib/docker/containers/ID/hostname` into the container. This function
  /// is needed if crashd runs inside a container and not in the host's cgroup namespace, for example as a sidecar.
  static func of(mounts text: String) -> CrashReport.Container? {
    var found = CrashReport.Container()
    for line in text.utf8.split(separator: UInt8(ascii: "\n")) {
      // A line consists of the fields ID PARENT DEVICE ROOT MOUNTPOINT … (proc_pid_mountinfo(5)).
      let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 5)
      guard fields.count > 4 else { continue }
      let point = String(Substring(fields[4]))
      guard ["/etc/hostname", "/etc/hosts", "/dev/termination-log"].contains(point) else { continue }
      let parts = fields[3].split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
      if point == "/etc/hostname" {
        for (parent, part) in zip(parts, parts.dropFirst()) {
          if let runtime = mounts[parent], let (id, prefix) = id(in: part), prefix.isEmpty {
            (found.id, found.runtime) = (id, runtime)
          }
        }
      } else if let (uid, name) = PodName.of(mount: parts) {
        found.podUID = uid
        found.name = name ?? found.name
      }
    }
    // Discard the ID that comes from the mount of /etc/hostname in a pod, because this file belongs to the pod's
    // sandbox and not to the process's container.
    if found.podUID != nil { (found.id, found.runtime) = (nil, nil) }
    if found == CrashReport.Container() { return nil }
    found.source = "mountinfo"
    return found
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
    // Use the last part of the prefix, because containerd names a control group SLICE:PREFIX:ID.
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
