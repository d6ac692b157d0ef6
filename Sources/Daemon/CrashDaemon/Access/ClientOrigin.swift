import CLinux
import LinuxSystem

/// The namespaces of a client, compared with crashd's own namespaces.
enum ClientOrigin: Sendable, Equatable {
  /// The client is in crashd's pid namespace and user namespace.
  case here
  /// The client is in crashd's pid namespace, but in another user namespace, or in a user namespace that crashd cannot
  /// identify.
  case otherUserNamespace
  /// The client is in another pid namespace, or has ended.
  case elsewhere

  /// Compares the namespaces of a peer with crashd's own.
  ///
  /// With SO_PEERPIDFD (Linux 6.5), the pidfd always refers to the process that connected. Older kernels only provide
  /// the pid of this process. If the client has already ended, the result can describe another process, to which the
  /// kernel has assigned this pid. A client cannot gain access by a later change of its namespaces. A process never
  /// changes its own pid namespace, and cannot return to the parent of its user namespace.
  static func of(_ socket: Int32, _ peer: Peer) -> ClientOrigin {
    guard peer.pid != 0, let pidfd = try? UnixSocket.process(of: socket, pid: peer.pid),
      let text = SmallFile.text(at: "/proc/self/fdinfo/\(pidfd.number)"),
      pids(inInformation: text) == [peer.pid]
    else { return .elsewhere }
    let isHere = isInOwnUserNamespace(peer.pid)
    // Check after the reads that the process still exists. If the process exists, the pid belonged to this process
    // during the reads.
    guard cd_process_exists(pidfd.number) else { return .elsewhere }
    return isHere ? .here : .otherUserNamespace
  }

  /// Returns the pids in the line `NSpid:` of a pidfd's file in `/proc/self/fdinfo`.
  ///
  /// The first pid of the process is its pid in the pid namespace of `/proc`. The next pids are its pids in the nested
  /// pid namespaces. The kernel shows this line for any process, unlike the links in `/proc/PID/ns`.
  static func pids(inInformation text: String) -> [Int32] {
    let line = text.utf8.split(separator: UInt8(ascii: "\n")).first { $0.starts(with: "NSpid:".utf8) }
    let fields = (line ?? Substring("").utf8).split { $0 == UInt8(ascii: "\t") || $0 == UInt8(ascii: " ") }.dropFirst()
    return fields.map { Int32(Substring($0)) ?? 0 }
  }

  /// Whether the process has the same user namespace as crashd, or one with the same mapping of users.
  ///
  /// The link `/proc/PID/ns/user` is readable only for a process that crashd is allowed to trace (ptrace). For any
  /// other process, crashd compares the mappings. Only root can create a user namespace with the mapping of its parent.
  private static func isInOwnUserNamespace(_ pid: Int32) -> Bool {
    if let name = SmallFile.link(at: "/proc/\(pid)/ns/user") { return name == SmallFile.link(at: "/proc/self/ns/user") }
    guard let map = SmallFile.text(at: "/proc/\(pid)/uid_map") else { return false }
    return map == SmallFile.text(at: "/proc/self/uid_map")
  }
}
