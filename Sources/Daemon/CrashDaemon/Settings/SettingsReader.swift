public import CrashSettings

/// Merges settings from a file, the environment and the command line.
///
/// Later sources take precedence.
public struct SettingsReader: Sendable {
  /// The settings so far.
  public private(set) var settings = Settings()

  /// Starts with the defaults.
  public init() {}

  /// Reads a YAML or JSON file.
  /// - Throws: `SettingsError`, which contains the line.
  public mutating func read(file path: String) throws(SettingsError) {
    try Settings.table.read(file: path, into: &settings)
  }

  /// Reads the text of a file.
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

  /// Returns every key with its value, one per line, and the lists.
  ///
  /// A file with this text results in the same settings.
  public static func text(_ settings: Settings) -> String { Settings.table.text(settings) }
}
