/// The version of all programs and of the packages.
public enum ProductVersion: Sendable {
  /// Semantic Versioning, without a leading v.
  public static let number = "0.1.0"

  /// The line that `--version` prints, such as `crashctl 0.1.0 (6ec4bb42)`; an empty commit is omitted.
  public static func line(of program: String, commit: String) -> String {
    "\(program) \(number)" + (commit.isEmpty ? "" : " (\(commit))")
  }
}
