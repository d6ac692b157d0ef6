import Glibc

/// Finds the settings file of a program.
package enum SettingsPlace {
  /// Returns the path of the given file, or of the service's settings file, or nil if that does not exist.
  ///
  /// The service's file is in `directory` if systemd sets no configuration directory.
  package static func file(
    _ name: String, named path: String?, _ environment: [String: String], else directory: String?
  ) -> String? {
    if let path, !path.isEmpty { return path }
    // systemd may list several directories, separated by colons. The first one belongs to this program.
    let service = environment["CONFIGURATION_DIRECTORY"]?.split(separator: ":").first.map(String.init)
    guard let directory = service ?? directory else { return nil }
    let file = "\(directory)/\(name)"
    // An unreadable file causes an error later, when it is read. access reads the path only during the call.
    return unsafe access(file, F_OK) != 0 && errno == ENOENT ? nil : file
  }
}
