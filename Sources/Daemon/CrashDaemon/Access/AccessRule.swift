import CLinux
import CrashStore
import Glibc
import LinuxSystem

/// Decides who sees and changes everything, and who only the crashes of its own processes.
///
/// It trusts only the credentials that the kernel recorded when the peer connected.
struct AccessRule: Sendable {
  /// A group with access to everything.
  struct Group: Sendable, Equatable {
    var number: UInt32
    /// Its name in the settings.
    var name: String
  }

  /// crashd's own user, who can read its files anyway.
  var user: UInt32 = geteuid()
  /// Nil: only root and crashd's own user.
  var group: Group?

  /// The visibility of a peer.
  ///
  /// `isIn` is called only where the group matters.
  func visibility(of peer: Peer, isIn: (UInt32) -> Bool) -> Visibility {
    if peer.uid == 0 || peer.uid == user { return .all }
    return group.map { isIn($0.number) } == true ? .all : .user(peer.uid)
  }

  /// Identifies the peer of a connection and its visibility.
  /// - Throws: `SystemError` when the kernel does not report the peer. A peer whose groups it does not report is in
  ///   none; the ledger counts that.
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

/// A client: its user, and the crashes that it sees and changes.
///
/// Limits go by its user, whatever it sees.
struct Client: Sendable {
  let peer: Peer
  let visibility: Visibility
}
