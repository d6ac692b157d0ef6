public import CrashSettings

/// Reads settings from a file and from the environment.
///
/// Sources are read in order. A value of a later source replaces the value of an earlier source.
public struct ForwardSettingsReader: Sendable {
  /// The settings that were read so far.
  public private(set) var settings = ForwardSettings()

  private let table: SettingsTable<ForwardSettings>

  /// - Parameter credentials: `$CREDENTIALS_DIRECTORY`, in which files of secrets without an absolute path are
  ///   searched.
  public init(credentials: String? = nil) { table = ForwardSettings.table(credentials: credentials) }

  /// Reads a file in YAML or JSON.
  /// - Throws: `SettingsError` with the number of the line.
  public mutating func read(file path: String) throws(SettingsError) { try table.read(file: path, into: &settings) }

  /// Reads the text of a settings file.
  mutating func read(yaml text: String, at path: String) throws(SettingsError) {
    try table.read(yaml: text, at: path, into: &settings)
  }

  /// Reads the `CRASH_FORWARD_…` variables.
  /// - Throws: `SettingsError` for an invalid value or an unknown variable.
  public mutating func read(environment: [String: String]) throws(SettingsError) {
    try table.read(environment: environment, into: &settings)
  }

  /// Formats every key with its value, one per line.
  ///
  /// For a secret, shows only whether it is set.
  public static func text(_ settings: ForwardSettings) -> String {
    ForwardSettings.table(credentials: nil).text(settings)
  }
}
