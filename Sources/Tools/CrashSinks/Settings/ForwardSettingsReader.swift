import CrashReport
import LinuxSystem
import Yams

/// Makes settings of a file and the environment: what comes later wins.
///
/// Keys are those of crashd's own settings in form: a key that there is not is an error that names the one that is meant,
/// perhaps. A secret stands in a file of its own, which the settings name (`sentry.dsn-file`), or in the environment.
public struct ForwardSettingsReader: Sendable {
  /// What was read so far.
  public private(set) var settings = ForwardSettings()

  private static let fileLimitBytes = 64 << 10
  private static let secretLimitBytes = 16 << 10
  private static let suffix = "-file"
  /// systemd puts what `LoadCredential=` names here.
  private let credentials: String?

  /// - Parameter credentials: `$CREDENTIALS_DIRECTORY`; files of secrets that are no whole path are looked for there.
  public init(credentials: String? = nil) { self.credentials = credentials }

  /// Takes a file of YAML or JSON.
  /// - Throws: `ForwardSettingsError` with the line.
  public mutating func read(file path: String) throws(ForwardSettingsError) {
    try read(yaml: try Self.contents(of: path, limit: Self.fileLimitBytes, at: path), at: path)
  }

  /// Takes `CRASH_FORWARD_…` variables.
  /// - Throws: `ForwardSettingsError` for one that there is not, too.
  public mutating func read(environment: [String: String]) throws(ForwardSettingsError) {
    for (variable, value) in environment.sorted(by: { $0.key < $1.key })
    where variable.hasPrefix("CRASH_FORWARD_") && variable != "CRASH_FORWARD_CONFIG" {
      if let key = ForwardKey.all.first(where: { $0.variable == variable }) {
        try set(key, [value], at: variable)
      } else if let key = ForwardKey.all.first(where: { $0.isSecret && $0.variable + "_FILE" == variable }) {
        try set(key, secretIn: value, at: variable)
      } else {
        throw ForwardSettingsError(
          place: variable,
          reason: "there is no such setting" + Spelling.meant(variable, among: ForwardKey.all.map(\.variable)))
      }
    }
  }

  /// Every key with its value, a line each; secrets only say that they are there.
  public static func text(_ settings: ForwardSettings) -> String {
    ForwardKey.all.map { key in
      let value = key.show(settings)
      return value.isEmpty ? "\(key.name):\n" : "\(key.name): \(value)\n"
    }.joined()
  }

  mutating func read(yaml text: String, at path: String) throws(ForwardSettingsError) {
    let root: Node?
    do { root = try Yams.compose(yaml: text) } catch {
      throw Self.problem(error, path)
    }
    guard let root, !Self.isNothing(root) else { return }
    guard case .mapping(let mapping) = root else {
      throw ForwardSettingsError(place: path, reason: "the file is to have keys and values")
    }
    try read(mapping, under: "", path)
  }

  /// The place and no more: Yams repeats the line, which may hold what is not to be told.
  private static func problem(_ error: any Error, _ path: String) -> ForwardSettingsError {
    switch error as? YamlError {
    case .scanner(_, _, let mark, _)?, .parser(_, _, let mark, _)?, .composer(_, _, let mark, _)?:
      ForwardSettingsError(place: "\(path):\(mark.line)", reason: "it is no YAML from column \(mark.column) on")
    case .duplicatedKeysInMapping(_, let context)?:
      ForwardSettingsError(place: "\(path):\(context.mark.line)", reason: "a key stands here twice")
    default: ForwardSettingsError(place: path, reason: "it is no YAML in UTF-8")
    }
  }

  /// What stands in a key's place may be a value whose key was forgotten.
  private static func quoted(_ name: String) -> String {
    let isWord =
      name.utf8.count <= 48
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): true
        default: false
        }
      }
    return isWord ? " '\(name)'" : " of this name"
  }

  private mutating func read(_ mapping: Node.Mapping, under prefix: String, _ path: String) throws(ForwardSettingsError)
  {
    for (keyNode, value) in mapping {
      let place = keyNode.mark.map { "\(path):\($0.line)" } ?? path
      guard let part = keyNode.scalar?.string else {
        throw ForwardSettingsError(place: place, reason: "a key is a word")
      }
      let name = prefix + part
      let isSection = ForwardKey.all.contains { $0.name.hasPrefix(name + ".") }
      if case .mapping(let inner) = value, isSection, prefix.isEmpty {
        try read(inner, under: name + ".", path)
      } else if Self.isNothing(value), isSection || ForwardKey.all.contains(where: { $0.name == name }) {
        continue
      } else {
        try set(name, try Self.parts(of: value, name, place), at: place)
      }
    }
  }

  private static func parts(of value: Node, _ name: String, _ place: String) throws(ForwardSettingsError) -> [String] {
    switch value {
    case .scalar(let scalar): return [scalar.string]
    case .sequence(let sequence):
      let parts = sequence.compactMap { $0.scalar?.string }
      if parts.count == sequence.count { return parts }
    default: break
    }
    let known = ForwardKey.all.first { $0.name == name }
    throw ForwardSettingsError(
      place: place, reason: known.map { "\(name) takes \($0.takes)" } ?? "there is no section\(quoted(name))")
  }

  private mutating func set(_ name: String, _ value: [String], at place: String) throws(ForwardSettingsError) {
    if let key = ForwardKey.all.first(where: { $0.name == name }) {
      guard !key.isSecret else {
        throw ForwardSettingsError(
          place: place,
          reason: "\(name) is a secret: name a file by \(name)\(Self.suffix), or set \(key.variable) in the environment"
        )
      }
      return try set(key, value, at: place)
    }
    if let key = ForwardKey.all.first(where: { $0.isSecret && $0.name + Self.suffix == name }), value.count == 1 {
      return try set(key, secretIn: value[0], at: place)
    }
    let names = ForwardKey.all.map { $0.isSecret ? $0.name + Self.suffix : $0.name }
    throw ForwardSettingsError(
      place: place, reason: "there is no key\(Self.quoted(name))" + Spelling.meant(name, among: names))
  }

  private mutating func set(_ key: ForwardKey, _ value: [String], at place: String) throws(ForwardSettingsError) {
    guard key.apply(&settings, value) else {
      // Not what was found: it may be a password that stands in the wrong place.
      throw ForwardSettingsError(place: place, reason: "\(key.name) takes \(key.takes)")
    }
  }

  private mutating func set(_ key: ForwardKey, secretIn file: String, at place: String) throws(ForwardSettingsError) {
    let path: String
    if file.hasPrefix("/") {
      path = file
    } else if let credentials, !file.contains("/"), !file.isEmpty {
      path = "\(credentials)/\(file)"
    } else {
      throw ForwardSettingsError(
        place: place, reason: "a file is named by its whole path, or as a credential of the unit by its name")
    }
    let text = try Self.contents(of: path, limit: Self.secretLimitBytes, at: place, for: key)
    try set(key, [String(text.reversed().drop { $0.isWhitespace }.reversed())], at: place)
  }

  private static func contents(
    of path: String, limit: Int, at place: String, for secret: ForwardKey? = nil
  ) throws(ForwardSettingsError) -> String {
    func problem(_ reason: String) -> ForwardSettingsError {
      // Its path is not told: the secret itself may stand in its place.
      ForwardSettingsError(place: place, reason: secret.map { "the file of \($0.name): \(reason)" } ?? reason)
    }
    let bytes: ArraySlice<UInt8>
    do { bytes = try Descriptor.contents(of: path, upTo: limit + 1) } catch {
      throw problem("\(SystemError("read it", code: error.code))")
    }
    guard bytes.count <= limit else { throw problem("it is longer than \(limit >> 10) KiB") }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func isNothing(_ node: Node) -> Bool {
    guard case .scalar(let scalar) = node else { return false }
    return scalar.style == .plain && ["", "~", "null"].contains(scalar.string)
  }
}
