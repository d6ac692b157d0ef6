import CLinux
import CrashStore
import Glibc
import LinuxSystem

/// Decides which clients can access all crashes, and which clients only the crashes of their own user's processes.
///
/// The rule trusts only the credentials that the kernel recorded when the peer connected.
struct AccessRule: Sendable {
  /// A group with access to all crashes.
  struct Group: Sendable, Equatable {
    var number: UInt32
    /// The name of the group in the settings.
    var name: String
  }

  /// The user ID with which crashd runs; this user can read crashd's files anyway.
  var user: UInt32 = geteuid()
  /// The group with access to all crashes; nil if only root and crashd's own user have this access.
  var group: Group?

  /// Whether clients in other namespaces can have access to all crashes.
  var root = RootAccess.host

  /// Returns the visibility that a peer gets.
  ///
  /// `isIn` returns whether the peer is a member of a group, and is called only if the result depends on the group.
  /// `origin` is called only if the user or the group gives access to all crashes and `root` is `host`. Root of a
  /// container can choose any uid and gid. Therefore, with `host`, a peer in another pid namespace never gets this
  /// access. crashd's own user, if it is not root, keeps this access in another user namespace, because crash-forward
  /// runs in its own user namespace.
  func visibility(of peer: Peer, origin: () -> ClientOrigin, isIn: (UInt32) -> Bool) -> Visibility {
    guard peer.uid == 0 || peer.uid == user || group.map({ isIn($0.number) }) == true else { return .user(peer.uid) }
    if root == .all { return .all }
    switch origin() {
    case .here: return .all
    case .otherUserNamespace: return peer.uid == user && user != 0 ? .all : .user(peer.uid)
    case .elsewhere: return .user(peer.uid)
    }
  }

  /// Identifies the peer of a connection and decides its visibility.
  /// - Throws: `SystemError` if the kernel does not report the peer. If the kernel does not report the groups of the
  ///   peer, `ledger` counts the error, and the peer is treated as a member of no group.
  func client(of socket: Int32, _ ledger: Ledger) throws(SystemError) -> Client {
    let peer = try UnixSocket.peer(of: socket)
    var origin = ClientOrigin.here
    let visibility = visibility(of: peer) {
      origin = ClientOrigin.of(socket, peer)
      return origin
    } isIn: { group in
      do throws(SystemError) {
        return try UnixSocket.isPeer(of: socket, in: group)
      } catch {
        ledger.refuse("group", from: peer, because: "\(error)")
        return false
      }
    }
    return Client(peer: peer, visibility: visibility, isForeign: visibility != .all && origin != .here)
  }
}

/// A client of crashd, with its user and with the crashes that it can see and change.
///
/// The limits of the client's user apply whether or not the client can see the crashes of other users.
struct Client: Sendable {
  let peer: Peer
  let visibility: Visibility
  /// Whether the client lacks access to all crashes only because of its namespaces.
  var isForeign = false
}
