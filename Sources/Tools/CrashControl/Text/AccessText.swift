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
    access.all
      ? "full (all crashes), as for \(whoSeesAll(access))"
      : "crashes of uid \(access.uid) only; full for \(whoSeesAll(access))"
  }
}
