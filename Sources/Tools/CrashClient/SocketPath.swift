internal import Glibc

/// Where crashd's socket is.
public enum SocketPath: Sendable {
  /// The path to use: `option`, else `CRASHD_SOCKET`, else the system's crashd where there is one, else the user's.
  ///
  /// `XDG_RUNTIME_DIR` counts only if it belongs to the caller's effective user and others cannot write into it: after
  /// `su` the variable names the directory of another user, whose daemon could tell anything.
  public static func find(option: String?, environment: [String: String]) -> String {
    find(option: option, environment: environment, systemDirectory: "/run")
  }

  static func find(option: String?, environment: [String: String], systemDirectory: String) -> String {
    let name = "crashd/io.crashshield.Crashd"
    let system = "\(systemDirectory)/\(name)"
    if let path = option ?? environment["CRASHD_SOCKET"], !path.isEmpty { return path }
    // The path is read during the call only.
    if unsafe access(system, F_OK) == 0 { return system }
    if let directory = environment["XDG_RUNTIME_DIR"], isOwn(directory) { return "\(directory)/\(name)" }
    return system
  }

  private static func isOwn(_ directory: String) -> Bool {
    var status = stat()
    // A relative path is to be ignored (XDG Base Directory Specification). stat writes one struct stat.
    guard directory.hasPrefix("/"), unsafe stat(directory, &status) == 0 else { return false }
    return status.st_mode & S_IFMT == S_IFDIR && status.st_uid == geteuid() && status.st_mode & 0o022 == 0
  }
}
