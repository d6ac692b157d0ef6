/// The version of all programs and of the packages.
public enum ProductVersion: Sendable {
  /// The version number according to Semantic Versioning, without a leading v.
  public static let number = "0.1.0"

  /// Returns the line that `--version` prints, such as `crashctl 0.1.0 (6ec4bb42)`.
  ///
  /// If the commit is empty, it is omitted.
  public static func line(of program: String, commit: String) -> String {
    "\(program) \(number)" + (commit.isEmpty ? "" : " (\(commit))")
  }
}
