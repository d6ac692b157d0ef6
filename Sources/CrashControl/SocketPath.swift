import Glibc

/// Where crashd's socket is.
public enum SocketPath: Sendable {
  /// The path to use: `option`, else `CRASHD_SOCKET`, else the system's crashd where there is one, else the user's.
  public static func find(option: String?, environment: [String: String]) -> String {
    let name = "crashd/io.crashshield.Crashd"
    let system = "/run/" + name
    if let path = option ?? environment["CRASHD_SOCKET"], !path.isEmpty { return path }
    // The path is read during the call only.
    if unsafe access(system, F_OK) == 0 { return system }
    if let directory = environment["XDG_RUNTIME_DIR"], !directory.isEmpty { return directory + "/" + name }
    return system
  }
}
