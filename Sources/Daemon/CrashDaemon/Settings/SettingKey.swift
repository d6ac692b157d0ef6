/// One key: its name, what it takes, and where it goes.
struct SettingKey: Sendable {
  /// Such as `retention.age`.
  var name: String
  /// For an error: `an age such as 30d`.
  var takes: String
  /// Whether a reload changes it in a crashd that runs.
  var isLive: Bool
  /// Puts a value where it belongs; false: it is not what the key takes.
  var apply: @Sendable (inout Settings, SettingValue) -> Bool
  /// The value as a file would have it; empty: none.
  var show: @Sendable (Settings) -> String

  /// The name in the environment.
  var variable: String {
    "CRASHD_" + String(name.uppercased().map { $0 == "." || $0 == "-" ? "_" : $0 })
  }

  typealias Path<Value> = any WritableKeyPath<Settings, Value> & Sendable

  static func age(_ name: String, _ path: Path<Int>, isLive: Bool = true) -> SettingKey {
    value(name, path, "an age such as 90s, 12h, 30d or 4w", isLive, SettingText.age, SettingText.text(age:))
  }

  static func bytes(_ name: String, _ path: Path<Int>, atLeast least: Int = 0, isLive: Bool = true) -> SettingKey {
    let takes = "a size such as 64MiB or 2GiB" + (least == 0 ? "" : ", at least \(SettingText.text(bytes: least))")
    return value(
      name, path, takes, isLive, { SettingText.bytes($0).flatMap { $0 >= least ? $0 : nil } },
      SettingText.text(bytes:))
  }

  static func group(_ name: String, _ path: Path<AccessGroup>) -> SettingKey {
    value(
      name, path, "own, none, or a group's name or number, but 0 and nogroup", false, { AccessGroup($0) }, { $0.text })
  }

  static func count(_ name: String, _ path: Path<Int>, isLive: Bool = true) -> SettingKey {
    value(
      name, path, "a number from 1 to 1000000", isLive, { SettingText.count($0).flatMap { $0 > 0 ? $0 : nil } },
      { "\($0)" })
  }

  static func milliseconds(_ name: String, _ path: Path<Int>) -> SettingKey {
    value(
      name, path, "an age such as 10s or 5m", false,
      { SettingText.age($0).flatMap { $0 > 0 && $0 < 86_400 * 365 ? $0 * 1_000 : nil } },
      { SettingText.text(age: $0 / 1_000) })
  }

  static func text(
    _ name: String, _ path: Path<String?>, _ takes: String, isLive: Bool = false, standard: String = "",
    where isGood: @escaping @Sendable (String) -> Bool = { !$0.isEmpty }
  ) -> SettingKey {
    value(name, path, takes, isLive, { isGood($0) ? .some(.some($0)) : .none }, { $0 ?? standard })
  }

  static func flag(_ name: String, _ path: Path<Bool>, isLive: Bool = true) -> SettingKey {
    value(name, path, "true or false", isLive, SettingText.flag, { "\($0)" })
  }

  /// A list in a file; in a text, its parts stand between commas.
  static func list(
    _ name: String, _ path: Path<[String]>, _ takes: String,
    where isGood: @escaping @Sendable (String) -> Bool = { !$0.isEmpty }
  ) -> SettingKey {
    SettingKey(
      name: name, takes: takes, isLive: true,
      apply: { settings, value in
        let texts: [String] =
          switch value {
          case .list(let texts): texts
          case .text(let text): text.split(separator: ",").map { $0.trimmed }
          }
        guard texts.allSatisfy(isGood) else { return false }
        settings[keyPath: path] = texts
        return true
      }, show: { "[\($0[keyPath: path].map(SettingText.quoted).joined(separator: ", "))]" })
  }

  private static func value<Value>(
    _ name: String, _ path: Path<Value>, _ takes: String, _ isLive: Bool,
    _ read: @escaping @Sendable (String) -> Value?, _ write: @escaping @Sendable (Value) -> String
  ) -> SettingKey {
    SettingKey(
      name: name, takes: takes, isLive: isLive,
      apply: { settings, value in
        guard case .text(let text) = value, let value = read(text) else { return false }
        settings[keyPath: path] = value
        return true
      }, show: { write($0[keyPath: path]) })
  }
}

extension Substring {
  /// Without blanks at either end.
  var trimmed: String {
    let rest = drop { $0 == " " }
    return String(
      rest.prefix(rest.lastIndex { $0 != " " }.map { rest.distance(from: rest.startIndex, to: $0) + 1 } ?? 0))
  }
}
