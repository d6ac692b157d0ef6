import Glibc

/// Finds the settings file of a program.
public enum SettingsPlace: Sendable {
  /// Returns the path of the given file, or of the service's settings file if no file is given.
  ///
  /// Returns nil if no file is given and the service's file does not exist. The service's file is in systemd's
  /// configuration directory (`CONFIGURATION_DIRECTORY`), or in `directory` if the variable is not set.
  public static func file(
    _ name: String, named path: String?, _ environment: [String: String], else directory: String?
  ) -> String? {
    if let path, !path.isEmpty { return path }
    // systemd can list several directories, separated by colons. The first directory is that of this program.
    let service = environment["CONFIGURATION_DIRECTORY"]?.split(separator: ":").first.map(String.init)
    guard let directory = service ?? directory else { return nil }
    let file = "\(directory)/\(name)"
    // Return the path of an unreadable file, too, so that reading it reports the error. Invariant: access reads the
    // path only during the call.
    return unsafe access(file, F_OK) != 0 && errno == ENOENT ? nil : file
  }
}
