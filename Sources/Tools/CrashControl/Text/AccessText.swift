import CrashProtocol
import CrashReport

/// Formats the access to crashes as text.
enum AccessText {
  /// Names the users with access to all crashes, besides crashd's own user.
  static func whoSeesAll(_ access: DaemonStatus.Access) -> String {
    "root" + (access.group.map { " and members of the group '\(CleanText.line($0))'" } ?? "")
  }

  /// Describes the access of the caller.
  static func sentence(_ access: DaemonStatus.Access) -> String {
    if access.all { return "full (all crashes), as for \(whoSeesAll(access))" }
    let only = "crashes of uid \(access.uid) only"
    if access.isForeign == true {
      return only + ", because this process is in another pid or user namespace than crashd (see access.root)"
    }
    return "\(only); full for \(whoSeesAll(access))"
  }
}
