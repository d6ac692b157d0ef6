public import CrashSettings

/// Reads settings from a file and the environment: a later source takes precedence.
public struct ForwardSettingsReader: Sendable {
  /// The settings read so far.
  public private(set) var settings = ForwardSettings()

  private let table: SettingsTable<ForwardSettings>

  /// - Parameter credentials: `$CREDENTIALS_DIRECTORY`; files of secrets that are no whole path are looked for there.
  public init(credentials: String? = nil) { table = ForwardSettings.table(credentials: credentials) }

  /// Takes a file of YAML or JSON.
  /// - Throws: `SettingsError` with the line.
  public mutating func read(file path: String) throws(SettingsError) { try table.read(file: path, into: &settings) }

  /// Takes the text of a file.
  mutating func read(yaml text: String, at path: String) throws(SettingsError) {
    try table.read(yaml: text, at: path, into: &settings)
  }

  /// Takes `CRASH_FORWARD_…` variables.
  /// - Throws: `SettingsError`, also for an unknown variable.
  public mutating func read(environment: [String: String]) throws(SettingsError) {
    try table.read(environment: environment, into: &settings)
  }

  /// Every key with its value, a line each; a secret shows only whether it is set.
  public static func text(_ settings: ForwardSettings) -> String {
    ForwardSettings.table(credentials: nil).text(settings)
  }
}
