/// The reports that a client is allowed to read.
public enum Visibility: Sendable, Hashable {
  /// The client is allowed to read all reports.
  case all
  /// The client is allowed to read the reports of processes that ran under the given user ID.
  case user(UInt32)

  var uid: Int64? {
    switch self {
    case .all: nil
    case .user(let uid): Int64(uid)
    }
  }
}
