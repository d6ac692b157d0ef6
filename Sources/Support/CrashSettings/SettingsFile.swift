import LinuxSystem
import Yams

/// A settings file in YAML.
///
/// JSON is also valid, because it is a subset of YAML.
struct SettingsFile {
  // The maximum size of a settings file. Larger files are rejected before they are parsed, because Yams is very slow
  // for keys that are nested mappings.
  static let limitBytes = 64 << 10

  let path: String
  /// Whether error messages are allowed to contain values of the file.
  let tellsValues: Bool

  func place(_ node: Node) -> String { node.mark.map { "\(path):\($0.line)" } ?? path }

  func error(_ node: Node, _ reason: String) -> SettingsError { SettingsError(place: place(node), reason: reason) }

  /// Parses the keys and values of the file.
  ///
  /// Returns nil if the file contains only comments.
  func mapping(of text: String) throws(SettingsError) -> Node.Mapping? {
    if let alias = YAMLAlias.first(in: text) {
      let example = tellsValues ? " such as '*\(alias.name)'" : ""
      throw SettingsError(
        place: "\(path):\(alias.line)", reason: "anchors and aliases\(example) are not supported")
    }
    let root: Node?
    do { root = try Yams.compose(yaml: text) } catch { throw problem(error) }
    guard let root, !root.isNothing else { return nil }
    guard case .mapping(let mapping) = root else {
      throw self.error(root, "the file must contain keys and values, such as log-level: info")
    }
    return mapping
  }

  private func problem(_ error: any Error) -> SettingsError {
    switch error as? YamlError {
    case .scanner(_, let problem, let mark, _)?, .parser(_, let problem, let mark, _)?,
      .composer(_, let problem, let mark, _)?:
      SettingsError(
        place: "\(path):\(mark.line)",
        reason: tellsValues ? problem : "invalid YAML from column \(mark.column) on")
    case .duplicatedKeysInMapping(let duplicates, let context)?:
      // Yams reports only one location for all duplicates of a key.
      SettingsError(
        place: "\(path):\(context.mark.line)",
        reason: (tellsValues ? "'\(duplicates.first ?? "")'" : "a key") + " is set twice")
    default:
      SettingsError(place: path, reason: tellsValues ? "\(error)".replacing("\n", with: " ") : "invalid YAML or UTF-8")
    }
  }
}

extension SettingText {
  /// Returns the contents of a file as a string.
  public static func contents(of path: String, limitBytes: Int) throws(SettingProblem) -> String {
    let bytes: ArraySlice<UInt8>
    do { bytes = try Descriptor.contents(of: path, upTo: limitBytes + 1) } catch {
      throw SettingProblem("\(SystemError("read it", code: error.code))")
    }
    guard bytes.count <= limitBytes else { throw SettingProblem("it is longer than \(limitBytes >> 10) KiB") }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension SettingsTable {
  /// Reads a settings file.
  public func read(file path: String, into settings: inout Settings) throws(SettingsError) {
    let text: String
    do throws(SettingProblem) { text = try SettingText.contents(of: path, limitBytes: SettingsFile.limitBytes) } catch {
      throw SettingsError(place: path, reason: error.reason)
    }
    try read(yaml: text, at: path, into: &settings)
  }

  /// Reads the text of a settings file.
  public func read(yaml text: String, at path: String, into settings: inout Settings) throws(SettingsError) {
    let file = SettingsFile(path: path, tellsValues: tellsValues)
    if let mapping = try file.mapping(of: text) { try read(mapping, under: "", file, into: &settings) }
  }

  private func read(
    _ mapping: Node.Mapping, under prefix: String, _ file: SettingsFile, into settings: inout Settings
  ) throws(SettingsError) {
    for (keyNode, value) in mapping {
      guard let part = keyNode.scalar?.string else { throw file.error(keyNode, "a key must be a single word") }
      let name = prefix + part
      let (key, list) = (keys.first { $0.name == name }, lists.first { $0.name == name })
      let isSection = keys.contains { $0.name.hasPrefix(name + ".") }
      // Skip a key without a value, such as a section whose keys are all commented out.
      if value.isNothing, isSection || key != nil || list != nil { continue }
      if let list {
        try list.read(value, file, &settings)
      } else if case .mapping(let inner) = value, isSection {
        try read(inner, under: name + ".", file, into: &settings)
      } else if let key {
        guard !key.isSecret else {
          let reason = "\(name) is a secret: name a file by \(name)-file, or set \(variable(name)) in the environment"
          throw file.error(keyNode, reason)
        }
        guard let value = value.settingValue else {
          throw file.error(keyNode, "\(name) takes \(key.takes), not keys of its own")
        }
        try key.set(value, as: name, at: file.place(keyNode), tellsValue: tellsValues, in: &settings)
      } else {
        throw unknown(name, file.place(keyNode))
      }
    }
  }
}

extension Node {
  /// Whether a key has no value.
  fileprivate var isNothing: Bool {
    guard case .scalar(let scalar) = self else { return false }
    return scalar.style == .plain && ["", "~", "null"].contains(scalar.string)
  }

  /// The node as a string or a list of strings.
  ///
  /// Nil if the node contains keys or nested lists.
  fileprivate var settingValue: SettingValue? {
    switch self {
    case .scalar(let scalar): return .text(scalar.string)
    case .sequence(let sequence):
      let texts = sequence.compactMap { $0.scalar?.string }
      return texts.count == sequence.count ? .list(texts) : nil
    default: return nil
    }
  }
}
