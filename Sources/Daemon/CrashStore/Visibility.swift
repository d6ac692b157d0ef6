/// The set of reports that a reader may read.
public enum Visibility: Sendable, Hashable {
  /// All reports.
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
