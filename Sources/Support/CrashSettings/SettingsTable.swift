import CrashReport

/// All keys of a program's settings, with functions that read files and the environment.
///
/// An unknown key is an error, whose message suggests the most similar key.
public struct SettingsTable<Settings>: Sendable {
  /// The keys, in the order in which they are shown.
  public var keys: [SettingKey<Settings>]
  var lists: [SettingList<Settings>]
  /// The prefix of environment variables.
  var prefix: String
  /// The variables with this prefix that are not settings.
  var otherVariables: Set<String>
  /// Whether error messages are allowed to contain values.
  ///
  /// The value must be false if users can enter a secret in place of another value.
  var tellsValues: Bool

  /// Creates a table.
  ///
  /// `prefix` is the prefix of environment variables, and `otherVariables` are the variables with this prefix that are
  /// not settings.
  public init(
    _ keys: [SettingKey<Settings>], lists: [SettingList<Settings>] = [], variablesBegin prefix: String,
    but otherVariables: Set<String>, tellsValues: Bool = true
  ) {
    (self.keys, self.lists, self.prefix) = (keys, lists, prefix)
    (self.otherVariables, self.tellsValues) = (otherVariables, tellsValues)
  }

  /// Returns the environment variable of a key.
  func variable(_ name: String) -> String {
    prefix + String(name.uppercased().map { $0 == "." || $0 == "-" ? "_" : $0 })
  }

  /// Reads the environment variables that are settings.
  public func read(environment: [String: String], into settings: inout Settings) throws(SettingsError) {
    for (variable, value) in environment.sorted(by: { $0.key < $1.key })
    where variable.hasPrefix(prefix) && !otherVariables.contains(variable) {
      if let list = lists.first(where: { self.variable($0.name) == variable }) { throw list.onlyInFiles(variable) }
      guard let key = keys.first(where: { self.variable($0.name) == variable }) else {
        let meant = Spelling.meant(variable, among: keys.map { self.variable($0.name) })
        throw SettingsError(place: variable, reason: "there is no such setting" + meant)
      }
      try key.set(.text(value), as: key.name, at: variable, tellsValue: tellsValues, in: &settings)
    }
  }

  /// Sets one setting.
  public func set(
    _ name: String, _ value: SettingValue, at place: String, in settings: inout Settings
  ) throws(SettingsError) {
    if let list = lists.first(where: { $0.name == name }) { throw list.onlyInFiles(place) }
    guard let key = keys.first(where: { $0.name == name }) else { throw unknown(name, place) }
    try key.set(value, as: name, at: place, tellsValue: tellsValues, in: &settings)
  }

  /// Formats all keys with their values, one per line, and the lists.
  ///
  /// The result is a valid settings file without secrets.
  public func text(_ settings: Settings) -> String {
    let values = keys.compactMap { key in key.show.map { (key.name, $0(settings)) } }
    return values.map { $1.isEmpty ? "\($0):\n" : "\($0): \($1)\n" }.joined()
      + lists.map { $0.show(settings) }.joined()
  }

  /// Returns the names of the changed settings, separated by whether a reload applies them.
  public func changes(from old: Settings, to new: Settings) -> (live: [String], needRestart: [String]) {
    let changed = keys.filter { $0.show?(old) != $0.show?(new) }
    return (
      lists.filter { !$0.isSame(old, new) }.map(\.name) + changed.filter(\.isLive).map(\.name),
      changed.filter { !$0.isLive }.map(\.name)
    )
  }

  /// Returns the error for an unknown key or section.
  func unknown(_ name: String, _ place: String) -> SettingsError {
    let sections = Set(keys.compactMap { key in key.name.lastIndex(of: ".").map { String(key.name[..<$0]) } })
    let names = lists.map(\.name) + sections.sorted() + keys.filter { !$0.isSecret }.map(\.name)
    // Show only strings that look like names. A user can have forgotten the key of a secret, so that the secret is in
    // the place of the key.
    let isTold = tellsValues || (name.utf8.count <= 48 && name.utf8.allSatisfy(Self.isOfName))
    return SettingsError(
      place: place,
      reason: "there is no key \(isTold ? "'\(name)'" : "of this name")"
        + Spelling.meant(name, among: names.filter { $0 != name }))
  }

  private static func isOfName(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || "-_.".utf8.contains(byte)
  }
}
