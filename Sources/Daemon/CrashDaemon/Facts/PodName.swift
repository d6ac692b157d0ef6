/// Finds the uid of the pod in which a container runs, in names that kubelet and podman choose.
///
/// Users can choose such names, too. Therefore, as with `ContainerName`, crashd only prints the uid in the report.
enum PodName {
  /// Finds the pod in the path components of a control group, up to the container.
  ///
  /// With the cgroup driver systemd, kubelet creates the slice `kubepods-burstable-podUID.slice`, in which the UID has
  /// `_` in place of `-`. With the driver cgroupfs, kubelet creates the directory `podUID`. Podman creates the slice
  /// `machine-libpod_pod_ID.slice` or the directory `libpod_parent/ID`.
  static func of(groups parts: ArraySlice<String>) -> String? {
    for (index, part) in zip(parts.indices, parts).reversed() {
      // Use the part before the first colon, because containerd names a control group SLICE:PREFIX:ID.
      let name = part.utf8.prefix { $0 != UInt8(ascii: ":") }
      if let uid = uid(inGroup: Array(name)) { return uid }
      if index > parts.startIndex, index + 1 < parts.endIndex, parts[index - 1] == "libpod_parent", isPodmanID(part) {
        return part
      }
    }
    return nil
  }

  /// Finds the pod in the path of a file that kubelet mounts into a container, and the name of the container if the path
  /// contains it.
  ///
  /// These paths are `…/pods/UID/etc-hosts` and `…/pods/UID/containers/NAME/FILE`.
  static func of(mount parts: [String]) -> (uid: String, name: String?)? {
    let last = Array(parts.suffix(5))
    if last.count > 2, last[last.count - 3] == "pods", last.last == "etc-hosts" {
      return uid(last[last.count - 2]).map { ($0, nil) }
    }
    guard last.count == 5, last[0] == "pods", last[2] == "containers", isName(last[3]) else { return nil }
    return uid(last[1]).map { ($0, last[3]) }
  }

  private static func uid(inGroup bytes: [UInt8]) -> String? {
    let slice = Array(".slice".utf8)
    let isSlice = bytes.suffix(slice.count).elementsEqual(slice)
    let name = String(decoding: isSlice ? bytes.dropLast(slice.count) : bytes[...], as: UTF8.self)
    if isSlice, let id = rest(of: name, after: "libpod_pod_"), isPodmanID(id) { return id }
    return rest(of: name, after: "pod").flatMap { uid($0.replacing("_", with: "-")) }
  }

  /// Returns the text after the last `mark` that is at the beginning of the name or follows a `-`.
  ///
  /// In the name of a slice, a `-` separates the names of its parents from its own name.
  private static func rest(of name: String, after mark: String) -> String? {
    if name.hasPrefix(mark), !name.contains("-" + mark) { return String(name.dropFirst(mark.count)) }
    return name.ranges(of: "-" + mark).last.map { String(name[$0.upperBound...]) }
  }

  /// Returns the text if it is the uid of a pod: a UUID, or the hash of a static pod in 32 hexadecimal digits.
  private static func uid(_ text: String) -> String? {
    let groups = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    let isID = [[8, 4, 4, 4, 12], [32]].contains(groups.map(\.count)) && groups.joined().allSatisfy(isDigit)
    return isID ? text : nil
  }

  private static func isPodmanID(_ text: String) -> Bool { text.utf8.count == 64 && text.utf8.allSatisfy(isDigit) }

  /// Whether the text is the name of a container: a DNS label (RFC 1123).
  private static func isName(_ text: String) -> Bool {
    (1...63).contains(text.utf8.count) && text.utf8.allSatisfy("0123456789abcdefghijklmnopqrstuvwxyz-".utf8.contains)
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte)
  }
}
