import CLinux
import Glibc
import LinuxSystem

/// Creates listening Unix sockets, and reads the credentials of their peers.
enum UnixSocket {
  enum Kind: CaseIterable {
    case packets
    case stream

    var type: Int32 {
      switch self {
      case .packets: Int32(SOCK_SEQPACKET.rawValue)
      case .stream: Int32(SOCK_STREAM.rawValue)
      }
    }
  }

  /// Creates a listening socket at a path.
  ///
  /// The function replaces an existing socket at this path.
  ///
  /// Every user is allowed to connect to the socket. crashd decides by the peer's credentials what the peer is allowed
  /// to do.
  static func listen(path: String, kind: Kind) throws(SystemError) -> Descriptor {
    let what = "listen on '\(path)'"
    let flags = Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
    let number = socket(AF_UNIX, kind.type | flags, 0)
    guard number >= 0 else { throw SystemError(what) }
    let descriptor = Descriptor(owning: number)
    guard let address = UnixAddress(path: path) else { throw SystemError(what, code: ENAMETOOLONG) }
    if unsafe unlink(path) != 0, errno != ENOENT { throw SystemError(what) }
    try SystemError.check(address.bind(number), what)
    guard unsafe chmod(path, 0o666) == 0, Glibc.listen(number, 1_024) == 0 else { throw SystemError(what) }
    return descriptor
  }

  /// Whether a descriptor that systemd passed is a listening socket of the given kind.
  static func isListening(_ descriptor: Int32, kind: Kind) -> Bool {
    option(descriptor, SO_ACCEPTCONN) == 1 && option(descriptor, SO_TYPE) == kind.type
  }

  private static func option(_ descriptor: Int32, _ name: Int32) -> Int32? {
    var value: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    // getsockopt writes at most `size` bytes to `value`, and `size` is the size of `value`.
    return unsafe getsockopt(descriptor, SOL_SOCKET, name, &value, &size) == 0 ? value : nil
  }

  /// Returns the process and the user at the other end of a connection.
  static func peer(of socket: Int32) throws(SystemError) -> Peer {
    var peer = cd_peer()
    try SystemError.check(unsafe cd_socket_peer(socket, &peer), "read the peer of a socket")
    return Peer(pid: peer.pid, uid: peer.uid)
  }

  /// Whether the peer was a member of a group at the time when it connected.
  static func isPeer(of socket: Int32, in group: UInt32) throws(SystemError) -> Bool {
    var isMember = false
    try SystemError.check(unsafe cd_socket_peer_is_in_group(socket, group, &isMember), "read the groups of a peer")
    return isMember
  }

  /// Returns a pidfd of the process at the other end of a connection.
  ///
  /// The pidfd becomes readable when the process has ended.
  static func process(of socket: Int32, pid: Int32) throws(SystemError) -> Descriptor {
    var number: Int32 = -1
    try SystemError.check(unsafe cd_socket_peer_process(socket, pid, &number), "open process \(pid)")
    return Descriptor(owning: number)
  }
}
