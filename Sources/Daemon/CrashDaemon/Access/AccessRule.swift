import CLinux
import CrashStore
import Glibc
import LinuxSystem

/// Who sees and changes everything, and who only what came of his own processes: by the kernel's word for the peer at the
/// moment when it connected, and nobody else's.
struct AccessRule: Sendable {
  /// A group that is let in.
  struct Group: Sendable, Equatable {
    var number: UInt32
    /// As the operator calls it.
    var name: String
  }

  /// crashd's own user, who can read its files anyway.
  var user: UInt32 = geteuid()
  /// nil: root and crashd's own user alone.
  var group: Group?

  /// What a peer may, who `isIn` a group or not: that is asked only where it matters.
  func visibility(of peer: Peer, isIn: (UInt32) -> Bool) -> Visibility {
    if peer.uid == 0 || peer.uid == user { return .all }
    return group.map { isIn($0.number) } == true ? .all : .user(peer.uid)
  }

  /// Who is at the other end of a connection, and what he may.
  /// - Throws: `SystemError` when the kernel does not tell who he is. One of whose groups it does not tell is in none, which
  ///   the ledger counts.
  func client(of socket: Int32, _ ledger: Ledger) throws(SystemError) -> Client {
    let peer = try UnixSocket.peer(of: socket)
    let visibility = visibility(of: peer) { group in
      do throws(SystemError) {
        return try UnixSocket.isPeer(of: socket, in: group)
      } catch {
        ledger.refuse("group", from: peer, because: "\(error)")
        return false
      }
    }
    return Client(peer: peer, visibility: visibility)
  }
}

/// Who asks, and whose crashes he sees and changes.
///
/// Limits go by his user, whatever he sees.
struct Client: Sendable {
  let peer: Peer
  let visibility: Visibility
}
