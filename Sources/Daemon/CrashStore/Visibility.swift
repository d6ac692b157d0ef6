/// The reports that a reader may see.
public enum Visibility: Sendable, Hashable {
  /// Every report.
  case all
  /// The reports of processes that ran under this user id.
  case user(UInt32)

  var uid: Int64? {
    switch self {
    case .all: nil
    case .user(let uid): Int64(uid)
    }
  }
}
