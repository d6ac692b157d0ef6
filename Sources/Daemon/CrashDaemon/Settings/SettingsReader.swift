public import CrashSettings

/// Merges settings from a file, the environment and the command line: later sources take precedence.
public struct SettingsReader: Sendable {
  /// The settings so far.
  public private(set) var settings = Settings()

  /// Starts with the defaults.
  public init() {}

  /// Reads a file of YAML or JSON.
  /// - Throws: `SettingsError` with the line.
  public mutating func read(file path: String) throws(SettingsError) {
    try Settings.table.read(file: path, into: &settings)
  }

  /// Reads the text of a file.
  mutating func read(yaml text: String, at path: String) throws(SettingsError) {
    try Settings.table.read(yaml: text, at: path, into: &settings)
  }

  /// Reads `CRASHD_…` variables.
  /// - Throws: `SettingsError`, also for a variable that does not exist.
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

  /// Reads an option of the command line with the name of a key, such as `log-level`.
  /// - Throws: `SettingsError`.
  public mutating func read(option name: String, _ value: String) throws(SettingsError) {
    try Settings.table.set(name, .text(value), at: "--\(name)", in: &settings)
  }

  /// Every key with its value, one per line, and the lists: a file that results in the same settings.
  public static func text(_ settings: Settings) -> String { Settings.table.text(settings) }
}
