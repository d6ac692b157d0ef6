import CLinux
import LinuxSystem

/// The namespaces of a client, compared with crashd's own namespaces.
enum ClientOrigin: Sendable, Equatable {
  /// The client is in crashd's pid namespace and user namespace.
  case here
  /// The client is in crashd's pid namespace, but in another user namespace, or crashd cannot read which one.
  case otherUserNamespace
  /// The client is in another pid namespace, or has ended.
  case elsewhere

  /// Compares the namespaces of a peer with crashd's own.
  ///
  /// The process of the pidfd cannot change: the kernel chose it when it connected (SO_PEERPIDFD, Linux 6.5). Older
  /// kernels only provide the pid, so a process with the same pid may have replaced a client that has already ended. A
  /// process never changes its pid namespace, and cannot return to a parent's user namespace.
  static func of(_ socket: Int32, _ peer: Peer) -> ClientOrigin {
    guard peer.pid != 0, let pidfd = try? UnixSocket.process(of: socket, pid: peer.pid),
      let text = SmallFile.text(at: "/proc/self/fdinfo/\(pidfd.number)"),
      pids(inInformation: text) == [peer.pid]
    else { return .elsewhere }
    let isHere = isInOwnUserNamespace(peer.pid)
    // Check after the reads that the process still exists. If it does, the pid belonged to this process during the reads.
    guard cd_process_exists(pidfd.number) else { return .elsewhere }
    return isHere ? .here : .otherUserNamespace
  }

  /// Returns the pids of a process in the text of a pidfd's information: in the pid namespace of `/proc`, and in each
  /// namespace below it.
  ///
  /// The kernel shows this line for any process, unlike the links in `/proc/PID/ns`.
  static func pids(inInformation text: String) -> [Int32] {
    let line = text.utf8.split(separator: UInt8(ascii: "\n")).first { $0.starts(with: "NSpid:".utf8) }
    let fields = (line ?? Substring("").utf8).split { $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: " ") }.dropFirst()
    return fields.map { Int32(Substring($0)) ?? 0 }
  }

  /// Whether the process has the same user namespace as crashd, or one with the same mapping of users.
  ///
  /// The link is readable only for a process that crashd may trace. For any other process, crashd compares the mappings.
  /// Only root can create a user namespace with the mapping of its parent.
  private static func isInOwnUserNamespace(_ pid: Int32) -> Bool {
    if let name = SmallFile.link(at: "/proc/\(pid)/ns/user") { return name == SmallFile.link(at: "/proc/self/ns/user") }
    guard let map = SmallFile.text(at: "/proc/\(pid)/uid_map") else { return false }
    return map == SmallFile.text(at: "/proc/self/uid_map")
  }
}
