public import CrashSettings

/// Merges settings from a file, the environment and the command line.
///
/// The caller must read the sources in this order, because later sources take precedence.
public struct SettingsReader: Sendable {
  /// The settings from all sources that have been read.
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

  /// Reads the environment variables whose names begin with `CRASHD_`.
  /// - Throws: `SettingsError`, also for a variable with this prefix that crashd does not support.
  public mutating func read(environment: [String: String]) throws(SettingsError) {
    try Settings.table.read(environment: environment, into: &settings)
  }

  /// Reads a setting of the form `KEY=VALUE`, such as `retention.age=7d`.
  /// - Throws: `SettingsError`.
  public mutating func read(argument: String) throws(SettingsError) {
    guard let equals = argument.firstIndex(of: "=") else {
      throw SettingsError(place: "--set \(argument)", reason: "it takes KEY=VALUE")
    }
    let (name, value) = (String(argument[..<equals]), String(argument[equals...].dropFirst()))
    try Settings.table.set(name, .text(value), at: "--set \(name)", in: &settings)
  }

  /// Reads a command-line option whose name is the key of a setting, such as `log-level`.
  /// - Throws: `SettingsError`.
  public mutating func read(option name: String, _ value: String) throws(SettingsError) {
    try Settings.table.set(name, .text(value), at: "--\(name)", in: &settings)
  }

  /// Returns the settings as text, with one line for each key, followed by the settings that are lists.
  ///
  /// If this text is read as a settings file, the result is the same settings.
  public static func text(_ settings: Settings) -> String { Settings.table.text(settings) }
}
