import CrashReport

/// Makes settings of what stands in a file, the environment and the command line: what comes later wins.
public struct SettingsReader: Sendable {
  /// What was read so far.
  public private(set) var settings = Settings()

  /// Variables of crashd that are no settings.
  private static let otherVariables: Set = [
    "CRASHD_SOCKET", "CRASHD_CONFIG", "CRASHD_DESCRIPTOR_STORE",
  ]

  /// Begins with what crashd does by itself.
  public init() {}

  /// Takes `CRASHD_…` variables.
  /// - Throws: `SettingsError` for one that there is not, too.
  public mutating func read(environment: [String: String]) throws(SettingsError) {
    for (variable, value) in environment.sorted(by: { $0.key < $1.key })
    where variable.hasPrefix("CRASHD_") && !Self.otherVariables.contains(variable) {
      if variable == "CRASHD_FORWARD" { throw SettingsError(place: variable, reason: Self.onlyInFiles) }
      guard let key = SettingKey.all.first(where: { $0.variable == variable }) else {
        let meant = Spelling.meant(variable, among: SettingKey.all.map(\.variable))
        throw SettingsError(place: variable, reason: "there is no such setting" + meant)
      }
      try set(key, .text(value), at: variable)
    }
  }

  /// Takes `KEY=VALUE`, such as `retention.age=7d`.
  /// - Throws: `SettingsError`.
  public mutating func read(argument: String) throws(SettingsError) {
    guard let equals = argument.firstIndex(of: "=") else {
      throw SettingsError(place: "--set \(argument)", reason: "it takes KEY=VALUE")
    }
    let name = String(argument[..<equals])
    if name == SettingKey.forward { throw SettingsError(place: "--set \(name)", reason: Self.onlyInFiles) }
    try set(name, .text(String(argument[argument.index(after: equals)...])), at: "--set \(name)")
  }

  /// Takes an option of the command line that is called as a key is, such as `log-level`.
  /// - Throws: `SettingsError`.
  public mutating func read(option name: String, _ value: String) throws(SettingsError) {
    try set(name, .text(value), at: "--\(name)")
  }

  private static let onlyInFiles = "forward is a list of collectors, which only a file can name"

  mutating func set(_ name: String, _ value: SettingValue, at place: String) throws(SettingsError) {
    guard let key = SettingKey.all.first(where: { $0.name == name }) else {
      let meant = Spelling.meant(name, among: SettingKey.all.map(\.name))
      throw SettingsError(place: place, reason: "there is no key '\(name)'" + meant)
    }
    try set(key, value, at: place)
  }

  private mutating func set(_ key: SettingKey, _ value: SettingValue, at place: String) throws(SettingsError) {
    guard key.apply(&settings, value) else {
      let text =
        switch value {
        case .text(let text): "'\(text.prefix(64))'"
        case .list: "this list"
        }
      throw SettingsError(place: place, reason: "\(key.name) takes \(key.takes), not \(text)")
    }
  }

  mutating func setForward(_ forward: [ForwardSettings]) { settings.forward = forward }

  mutating func setNoMemory(_ rules: [MemoryRule]) { settings.noMemory = rules }

  /// What differs between two settings.
  static func changes(from old: Settings, to new: Settings) -> (live: [String], needRestart: [String]) {
    let changed = SettingKey.all.filter { $0.show(old) != $0.show(new) }
    let forward = old.forward == new.forward ? [] : [SettingKey.forward]
    let noMemory = old.noMemory == new.noMemory ? [] : [SettingKey.noMemory]
    return (forward + noMemory + changed.filter(\.isLive).map(\.name), changed.filter { !$0.isLive }.map(\.name))
  }
}
