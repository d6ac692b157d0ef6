internal import Glibc

/// Finds the path of crashd's socket.
public enum SocketPath: Sendable {
  /// Returns `option`, or the value of `CRASHD_SOCKET` if `option` is nil.
  ///
  /// If this path is nil or empty, returns the socket of the system's crashd if it exists, else that of the user's
  /// crashd.
  ///
  /// The socket of the user's crashd is in `XDG_RUNTIME_DIR`. The variable is used only if the directory belongs to the
  /// caller's effective user and no other user can write into it. After `su`, `XDG_RUNTIME_DIR` can name the directory
  /// of another user, whose daemon is untrusted.
  public static func find(option: String?, environment: [String: String]) -> String {
    find(option: option, environment: environment, systemDirectory: "/run")
  }

  static func find(option: String?, environment: [String: String], systemDirectory: String) -> String {
    let name = "crashd/io.crashshield.Crashd"
    let system = "\(systemDirectory)/\(name)"
    if let path = option ?? environment["CRASHD_SOCKET"], !path.isEmpty { return path }
    // Invariant: access reads the path only during the call.
    if unsafe access(system, F_OK) == 0 { return system }
    if let directory = environment["XDG_RUNTIME_DIR"], isOwn(directory) { return "\(directory)/\(name)" }
    return system
  }

  private static func isOwn(_ directory: String) -> Bool {
    var status = stat()
    // The XDG Base Directory Specification requires that a relative path is ignored. Invariant: stat fills in the
    // structure.
    guard directory.hasPrefix("/"), unsafe stat(directory, &status) == 0 else { return false }
    return status.st_mode & S_IFMT == S_IFDIR && status.st_uid == geteuid() && status.st_mode & 0o022 == 0
  }
}
