import CrashClient
import CrashReport

/// Who sees and changes what, in words.
enum AccessText {
  /// Who sees everybody's crashes, besides crashd's own user.
  static func whoSeesAll(_ access: DaemonStatus.Access) -> String {
    "root" + (access.group.map { " and members of the group '\(CleanText.line($0))'" } ?? "")
  }

  /// What whoever asked may.
  static func sentence(_ access: DaemonStatus.Access) -> String {
    access.all
      ? "you see and change everybody's crashes, as \(whoSeesAll(access)) do"
      : "you see and change those of uid \(access.uid); \(whoSeesAll(access)) everybody's"
  }
}
