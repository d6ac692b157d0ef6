public import CrashSettings

/// Makes settings of what stands in a file, the environment and the command line: what comes later wins.
public struct SettingsReader: Sendable {
  /// What was read so far.
  public private(set) var settings = Settings()

  /// Begins with what crashd does by itself.
  public init() {}

  /// Takes a file of YAML or JSON.
  /// - Throws: `SettingsError` with the line.
  public mutating func read(file path: String) throws(SettingsError) {
    try Settings.table.read(file: path, into: &settings)
  }

  /// Takes the text of a file.
  mutating func read(yaml text: String, at path: String) throws(SettingsError) {
    try Settings.table.read(yaml: text, at: path, into: &settings)
  }

  /// Takes `CRASHD_…` variables.
  /// - Throws: `SettingsError` for one that there is not, too.
  public mutating func read(environment: [String: String]) throws(SettingsError) {
    try Settings.table.read(environment: environment, into: &settings)
  }

  /// Takes `KEY=VALUE`, such as `retention.age=7d`.
  /// - Throws: `SettingsError`.
  public mutating func read(argument: String) throws(SettingsError) {
    guard let equals = argument.firstIndex(of: "=") else {
      throw SettingsError(place: "--set \(argument)", reason: "it takes KEY=VALUE")
    }
    let (name, value) = (String(argument[..<equals]), String(argument[equals...].dropFirst()))
    try Settings.table.set(name, .text(value), at: "--set \(name)", in: &settings)
  }

  /// Takes an option of the command line that is called as a key is, such as `log-level`.
  /// - Throws: `SettingsError`.
  public mutating func read(option name: String, _ value: String) throws(SettingsError) {
    try Settings.table.set(name, .text(value), at: "--\(name)", in: &settings)
  }

  /// Every key with its value, a line each, and the lists: a file that says the same.
  public static func text(_ settings: Settings) -> String { Settings.table.text(settings) }
}
