public import CrashSettings

/// Merges settings from a file, the environment and the command line.
///
/// The caller reads the sources in that order, and later sources take precedence.
public struct SettingsReader: Sendable {
  /// The settings that have been read so far.
  public private(set) var settings = Settings()

  /// Creates a reader with the default settings.
  public init() {}

  /// Reads a YAML or JSON file.
  /// - Throws: `SettingsError`, which contains the line number.
  public mutating func read(file path: String) throws(SettingsError) {
    try Settings.table.read(file: path, into: &settings)
  }

  /// Reads the settings from the text of a file.
  mutating func read(yaml text: String, at path: String) throws(SettingsError) {
    try Settings.table.read(yaml: text, at: path, into: &settings)
  }

  /// Reads `CRASHD_…` variables.
  /// - Throws: `SettingsError`, also for an unknown `CRASHD_…` variable.
  public mutating func read(environment: [String: String]) throws(SettingsError) {
    try Settings.table.read(environment: environment, into: &settings)
  }

  /// Reads `KEY=VALUE`, such as `retention.age=7d`.
  /// - Throws: `SettingsError`.
  public mutating func read(argument: String) throws(SettingsError) {
    guard let equals = argument.firstIndex(of: "=") else {
      throw SettingsError(place: "--set \(argument)", reason: "it takes KEY=VALUE")
    }
    let (name, value) = (String(argument[..<equals]), String(argument[equals...].dropFirst()))
    try Settings.table.set(name, .text(value), at: "--set \(name)", in: &settings)
  }

  /// Reads a command-line option that has the name of a key, such as `log-level`.
  /// - Throws: `SettingsError`.
  public mutating func read(option name: String, _ value: String) throws(SettingsError) {
    try Settings.table.set(name, .text(value), at: "--\(name)", in: &settings)
  }

  /// Returns the settings as text: one line for each key, followed by the lists.
  ///
  /// Reading this text as a settings file results in the same settings.
  public static func text(_ settings: Settings) -> String { Settings.table.text(settings) }
}
