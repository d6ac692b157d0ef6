import CrashProtocol
import CrashReport
import LinuxSystem
import Yams

// YAML, and JSON, which YAML contains.
extension SettingsReader {
  // Keys that are mappings of mappings take Yams far longer than they are long: nothing that may stand here needs more.
  private static let fileLimitBytes = 64 << 10
  private static let depthLimit = 4

  /// Takes a file.
  /// - Throws: `SettingsError` with the line.
  public mutating func read(file path: String) throws(SettingsError) {
    let bytes: ArraySlice<UInt8>
    do { bytes = try Descriptor.contents(of: path, upTo: Self.fileLimitBytes + 1) } catch {
      throw SettingsError(place: path, reason: "\(SystemError("read it", code: error.code))")
    }
    guard bytes.count <= Self.fileLimitBytes else {
      throw SettingsError(place: path, reason: "it is longer than \(Self.fileLimitBytes >> 10) KiB")
    }
    try read(yaml: String(decoding: bytes, as: UTF8.self), at: path)
  }

  /// Takes the text of a file.
  mutating func read(yaml text: String, at path: String) throws(SettingsError) {
    if let alias = YAMLAlias.first(in: text) {
      throw SettingsError(
        place: "\(path):\(alias.line)", reason: "anchors and aliases such as '*\(alias.name)' are not supported")
    }
    let root: Node?
    do { root = try Yams.compose(yaml: text) } catch let error as YamlError {
      throw Self.error(error, path)
    } catch { throw SettingsError(place: path, reason: "\(error)") }
    // Nothing but comments.
    guard let root, !Self.isNothing(root) else { return }
    guard case .mapping(let mapping) = root else {
      throw SettingsError(
        place: Self.place(path, root), reason: "the file is to have keys and values, such as log-level: info")
    }
    try read(mapping, under: "", depth: 0, path)
  }

  private mutating func read(
    _ mapping: Node.Mapping, under prefix: String, depth: Int, _ path: String
  ) throws(SettingsError) {
    var seen: Set<String> = []
    for (keyNode, value) in mapping {
      guard let part = keyNode.scalar?.string, depth < Self.depthLimit else {
        throw SettingsError(place: Self.place(path, keyNode), reason: "a key is a word")
      }
      let name = prefix + part
      guard seen.insert(part).inserted else {
        throw SettingsError(place: Self.place(path, keyNode), reason: "'\(name)' stands here a second time")
      }
      // A section with nothing in it, as when all of its keys are comments.
      if Self.isNothing(value) {
        guard
          SettingKey.parts.contains(name)
            || SettingKey.all.contains(where: { $0.name == name || $0.name.hasPrefix(name + ".") })
        else {
          throw Self.unknown(name, Self.place(path, keyNode))
        }
        continue
      }
      if try readPart(name, value, path) { continue }
      switch value {
      case .mapping(let inner):
        if let key = SettingKey.all.first(where: { $0.name == name }) {
          throw SettingsError(
            place: Self.place(path, keyNode), reason: "\(name) takes \(key.takes), not keys of its own")
        }
        guard SettingKey.all.contains(where: { $0.name.hasPrefix(name + ".") }) else {
          throw Self.unknown(name, Self.place(path, keyNode))
        }
        try read(inner, under: name + ".", depth: depth + 1, path)
      case .scalar(let scalar):
        try set(name, .text(scalar.string), at: Self.place(path, keyNode))
      case .sequence(let sequence):
        guard SettingKey.all.contains(where: { $0.name == name }) else {
          throw Self.unknown(name, Self.place(path, keyNode))
        }
        let texts = sequence.compactMap { $0.scalar?.string }
        guard texts.count == sequence.count else {
          throw SettingsError(place: Self.place(path, value), reason: "'\(name)' takes a list of words")
        }
        try set(name, .list(texts), at: Self.place(path, keyNode))
      case .alias:
        throw SettingsError(place: Self.place(path, value), reason: "aliases are not supported")
      }
    }
  }

  /// A key or a section that there is not.
  private static func unknown(_ name: String, _ place: String) -> SettingsError {
    let sections = SettingKey.all.compactMap { key in key.name.lastIndex(of: ".").map { String(key.name[..<$0]) } }
    let names = SettingKey.parts + Array(Set(sections)).sorted() + SettingKey.all.map(\.name)
    return SettingsError(place: place, reason: "there is no key '\(name)'" + Spelling.meant(name, among: names))
  }

  /// The keys that are no single values.
  private mutating func readPart(_ name: String, _ value: Node, _ path: String) throws(SettingsError) -> Bool {
    if name == SettingKey.noMemory {
      setNoMemory(try Self.memoryRules(value, path))
      return true
    }
    guard name == SettingKey.forward else { return false }
    guard case .sequence(let sequence) = value else {
      throw SettingsError(place: Self.place(path, value), reason: "forward takes a list, each with a path")
    }
    var forwards: [ForwardSettings] = []
    for node in sequence {
      let forward = try Self.forward(node, path)
      guard !forwards.contains(where: { $0.path == forward.path }) else {
        throw SettingsError(place: Self.place(path, node), reason: "'\(forward.path)' stands in the list a second time")
      }
      forwards.append(forward)
    }
    setForward(forwards)
    return true
  }

  /// A key of the filter of a collector: where its text goes, and what it takes.
  struct FilterKey: Sendable {
    var name: String
    var path: any WritableKeyPath<ReportFilter, String?> & Sendable
    var takes: String
    var isGood: @Sendable (String) -> Bool
  }

  static let filterKeys = [
    FilterKey(name: "name", path: \.name, takes: "a part of a program's name") { !$0.isEmpty },
    FilterKey(name: "group", path: \.group, takes: "the beginning of a group's key") { SettingKey.isHexadecimal($0) },
    FilterKey(name: "unit", path: \.unit, takes: "the name of a unit, such as shop.service") { $0.contains(".") },
    FilterKey(name: "signal", path: \.signal, takes: "the name of a signal, such as SIGSEGV") {
      SettingKey.isSignal($0)
    },
    FilterKey(name: "executable", path: \.executable, takes: "a part of an executable's path") { !$0.isEmpty },
  ]
  private static let forwardKeys =
    ["path", "format", "acknowledge", "scrub"] + filterKeys.map(\.name)

  private static func forward(_ node: Node, _ path: String) throws(SettingsError) -> ForwardSettings {
    guard case .mapping(let mapping) = node else {
      throw SettingsError(
        place: place(path, node), reason: "each of forward's has keys, such as path: /run/collector.sock")
    }
    var forward = ForwardSettings(path: "")
    for (keyNode, value) in mapping {
      let (key, here) = (keyNode.scalar?.string ?? "", place(path, keyNode))
      guard let text = value.scalar?.string else {
        throw SettingsError(place: here, reason: "forward's \(key) takes one word")
      }
      let takes: String?
      switch key {
      case "path":
        forward.path = text
        takes = SettingKey.isPath(text) && text.utf8.count < 108 ? nil : "the path of a socket, at most 107 bytes"
      case "format":
        forward.format = ForwardSettings.Format(rawValue: text) ?? .jsonl
        takes = ForwardSettings.Format(rawValue: text) == nil ? "jsonl or varlink" : nil
      case "acknowledge":
        forward.acknowledges = SettingText.flag(text) ?? false
        takes = SettingText.flag(text) == nil ? "true or false" : nil
      case "scrub":
        forward.scrubs = SettingText.flag(text) ?? true
        takes = SettingText.flag(text) == nil ? "true or false" : nil
      default:
        guard let filter = filterKeys.first(where: { $0.name == key }) else {
          throw SettingsError(
            place: here,
            reason: "forward has no key '\(key)'" + Spelling.meant(key, among: forwardKeys))
        }
        forward.filter[keyPath: filter.path] = text
        takes = filter.isGood(text) ? nil : filter.takes
      }
      if let takes {
        throw SettingsError(place: here, reason: "forward's \(key) takes \(takes), not '\(text.prefix(64))'")
      }
    }
    guard !forward.path.isEmpty else {
      throw SettingsError(place: place(path, node), reason: "each of forward's needs a path")
    }
    return forward
  }

  static func isNothing(_ node: Node) -> Bool {
    guard case .scalar(let scalar) = node else { return false }
    return scalar.style == .plain && ["", "~", "null"].contains(scalar.string)
  }

  static func place(_ path: String, _ node: Node) -> String { node.mark.map { "\(path):\($0.line)" } ?? path }

  private static func error(_ error: YamlError, _ path: String) -> SettingsError {
    switch error {
    case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
      .composer(_, let problem, let mark, _):
      SettingsError(place: "\(path):\(mark.line)", reason: problem)
    case .duplicatedKeysInMapping(let duplicates, let context):
      // The place is that of the keys together.
      SettingsError(
        place: "\(path):\(context.mark.line)", reason: "'\(duplicates.first ?? "")' stands here a second time")
    default: SettingsError(place: path, reason: "\(error)".replacing("\n", with: " "))
    }
  }
}
