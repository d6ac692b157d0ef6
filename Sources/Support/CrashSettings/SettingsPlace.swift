import Glibc

/// Where a program's settings are.
package enum SettingsPlace {
  /// The file that is named, else the service's; nil: there is none.
  ///
  /// It is looked for in `directory` when systemd names none.
  package static func file(
    _ name: String, named path: String?, _ environment: [String: String], else directory: String?
  ) -> String? {
    if let path, !path.isEmpty { return path }
    // systemd lists several with colons; the first is ours.
    let service = environment["CONFIGURATION_DIRECTORY"]?.split(separator: ":").first.map(String.init)
    guard let directory = service ?? directory else { return nil }
    let file = "\(directory)/\(name)"
    // What is there and cannot be read is an error when it is read. The path is read during the call only.
    return unsafe access(file, F_OK) != 0 && errno == ENOENT ? nil : file
  }
}
