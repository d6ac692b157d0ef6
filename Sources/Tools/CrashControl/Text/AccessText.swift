import CrashProtocol
import CrashReport

/// The access to crashes, as text.
enum AccessText {
  /// The users with access to all crashes, besides crashd's own user.
  static func whoSeesAll(_ access: DaemonStatus.Access) -> String {
    "root" + (access.group.map { " and members of the group '\(CleanText.line($0))'" } ?? "")
  }

  /// The access of the caller.
  static func sentence(_ access: DaemonStatus.Access) -> String {
    access.all
      ? "full (all crashes), as for \(whoSeesAll(access))"
      : "crashes of uid \(access.uid) only; full for \(whoSeesAll(access))"
  }
}
