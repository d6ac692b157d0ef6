import Glibc

/// Finds a program's settings.
package enum SettingsPlace {
  /// The named file, else the service's; nil: there is none.
  ///
  /// The service's is in `directory` when systemd names no directory.
  package static func file(
    _ name: String, named path: String?, _ environment: [String: String], else directory: String?
  ) -> String? {
    if let path, !path.isEmpty { return path }
    // systemd lists several, separated by colons; the first is ours.
    let service = environment["CONFIGURATION_DIRECTORY"]?.split(separator: ":").first.map(String.init)
    guard let directory = service ?? directory else { return nil }
    let file = "\(directory)/\(name)"
    // An unreadable file is an error later, when it is read. The path is read during the call only.
    return unsafe access(file, F_OK) != 0 && errno == ENOENT ? nil : file
  }
}
