/// The value of a key: a string or a list of strings.
public enum SettingValue: Sendable, Equatable {
  /// One string.
  case text(String)
  /// A list, from a settings file or from a string that a separator splits.
  case list([String])
}

/// The specific reason why a value is refused.
///
/// Error messages also contain the general description of the key's values.
public struct SettingProblem: Error {
  /// The reason, in one sentence.
  public var reason: String

  /// Creates a problem.
  public init(_ reason: String) { self.reason = reason }
}

/// One key, with its name, its valid values, and the property that it sets.
public struct SettingKey<Settings>: Sendable {
  /// The name, such as `retention.age`.
  public var name: String
  /// The description of valid values for error messages, such as `an age such as 30d`.
  public var takes: String
  /// Whether a reload applies a changed value to a running program.
  public var isLive = false
  /// Whether the key is forbidden in a settings file, because several users can read the file.
  public var isSecret = false
  /// Sets the property.
  ///
  /// Returns false if the value is invalid.
  public var apply: @Sendable (inout Settings, SettingValue) throws(SettingProblem) -> Bool
  /// Formats the value as in a settings file.
  ///
  /// Returns an empty string if the setting has no value. If this closure is nil, the value is never shown.
  public var show: (@Sendable (Settings) -> String)?

  /// The path of the property that a key sets.
  public typealias Path<Value> = any WritableKeyPath<Settings, Value> & Sendable

  /// Creates a key from its parts.
  public init(
    name: String, takes: String, isLive: Bool = false,
    apply: @escaping @Sendable (inout Settings, SettingValue) throws(SettingProblem) -> Bool,
    show: (@Sendable (Settings) -> String)? = nil
  ) {
    (self.name, self.takes, self.isLive, self.apply, self.show) = (name, takes, isLive, apply, show)
  }

  /// Creates a key whose value is parsed from a string.
  public static func value<Value>(
    _ name: String, _ path: Path<Value>, _ takes: String, isLive: Bool = false,
    _ read: @escaping @Sendable (String) -> Value?, _ write: @escaping @Sendable (Value) -> String
  ) -> Self {
    Self(
      name: name, takes: takes, isLive: isLive,
      apply: { settings, value in
        guard case .text(let text) = value, let value = read(text) else { return false }
        settings[keyPath: path] = value
        return true
      }, show: { write($0[keyPath: path]) })
  }

  /// Creates a key whose value is an age in seconds.
  public static func age(_ name: String, _ path: Path<Int>, isLive: Bool = true) -> Self {
    value(name, path, "an age such as 90s, 12h, 30d or 4w", isLive: isLive, SettingText.age, SettingText.text(age:))
  }

  /// Creates a key whose value is a size in bytes.
  public static func bytes(_ name: String, _ path: Path<Int>, atLeast least: Int = 0, isLive: Bool = true) -> Self {
    let takes = "a size such as 64MiB or 2GiB" + (least == 0 ? "" : ", at least \(SettingText.text(bytes: least))")
    return value(
      name, path, takes, isLive: isLive, { SettingText.bytes($0).flatMap { $0 >= least ? $0 : nil } },
      SettingText.text(bytes:))
  }

  /// Creates a key with a number as its value.
  ///
  /// `what` is the unit of the number and a comma, such as `minutes,`; the range follows it in error messages.
  public static func number(
    _ name: String, _ path: Path<Int>, _ what: String, _ range: ClosedRange<Int>, isLive: Bool = false
  ) -> Self {
    value(
      name, path, "\(what) from \(range.lowerBound) to \(range.upperBound)", isLive: isLive,
      { SettingText.count($0).flatMap { range.contains($0) ? $0 : nil } }, { "\($0)" })
  }

  /// Creates a key whose value is an age in milliseconds.
  public static func milliseconds(_ name: String, _ path: Path<Int>) -> Self {
    value(
      name, path, "an age such as 10s or 5m",
      { SettingText.age($0).flatMap { $0 > 0 && $0 < 86_400 * 365 ? $0 * 1_000 : nil } },
      { SettingText.text(age: $0 / 1_000) })
  }

  /// Creates a key whose value is a string, or nothing.
  public static func text(
    _ name: String, _ path: Path<String?>, _ takes: String, isLive: Bool = false, standard: String = "",
    where isGood: @escaping @Sendable (String) -> Bool = { !$0.isEmpty },
    write: @escaping @Sendable (String) -> String = { $0 }
  ) -> Self {
    value(name, path, takes, isLive: isLive, { isGood($0) ? .some(.some($0)) : .none }, { $0.map(write) ?? standard })
  }

  /// Creates a key whose value is a string that must not be empty.
  public static func requiredText(
    _ name: String, _ path: Path<String>, _ takes: String, where isGood: @escaping @Sendable (String) -> Bool,
    write: @escaping @Sendable (String) -> String = { $0 }
  ) -> Self {
    value(name, path, takes, { isGood($0) ? $0 : nil }, write)
  }

  /// Creates a key whose value is an absolute path.
  public static func path(_ name: String, _ path: Path<String?>, isLive: Bool = false) -> Self {
    text(name, path, "a path", isLive: isLive, where: SettingText.isPath)
  }

  /// Creates a key whose value is true or false.
  public static func flag(_ name: String, _ path: Path<Bool>, isLive: Bool = true) -> Self {
    value(name, path, "true or false", isLive: isLive, SettingText.flag, { "\($0)" })
  }

  /// Creates a key with a list as its value.
  ///
  /// In a settings file, the value is a YAML list. In an environment variable, the separator splits the value into
  /// items. If `separator` is nil, the whole value of the variable is the only item.
  public static func list(
    _ name: String, _ path: Path<[String]>, _ takes: String, separator: Character?, isLive: Bool = true,
    where isGood: @escaping @Sendable ([String]) -> Bool
  ) -> Self {
    Self(
      name: name, takes: takes, isLive: isLive,
      apply: { settings, value in
        let texts: [String] =
          switch value {
          case .list(let texts): texts
          case .text(let text): separator.map { SettingText.parts(of: text, between: $0) } ?? [text]
          }
        guard isGood(texts) else { return false }
        settings[keyPath: path] = texts
        return true
      }, show: { "[\($0[keyPath: path].map(SettingText.quoted).joined(separator: ", "))]" })
  }

  /// Sets the property.
  ///
  /// In error messages, `name` is the name of the key, and the value is shown only if `tellsValue` is true.
  func set(
    _ value: SettingValue, as name: String, at place: String, tellsValue: Bool = true, in settings: inout Settings
  ) throws(SettingsError) {
    do throws(SettingProblem) { if try apply(&settings, value) { return } } catch {
      throw SettingsError(place: place, reason: error.reason)
    }
    let found =
      switch value {
      case .text(let text): "'\(text.prefix(64))'"
      case .list: "this list"
      }
    throw SettingsError(place: place, reason: "\(name) takes \(takes)" + (tellsValue ? ", not \(found)" : ""))
  }
}
