import CrashReport
import Yams

/// A setting that is a list of parts, each with keys of its own.
///
/// Only a settings file can contain such a list.
public struct SettingList<Settings>: Sendable {
  var name: String
  /// The plural noun for the parts, such as `collectors`.
  var what: String
  var read: @Sendable (Node, SettingsFile, inout Settings) throws(SettingsError) -> Void
  var show: @Sendable (Settings) -> String
  var isSame: @Sendable (Settings, Settings) -> Bool

  /// Creates a list.
  ///
  /// Each part is initially `empty`, and its keys change it.
  ///
  /// Error messages contain the text `takes` (`a list of rules, such as - exe: /usr/bin/shop`), and an `example` of a
  /// key with its value. `check` returns the problem of a part, and also receives the parts before it.
  public init<Part: Equatable & Sendable>(
    _ name: String, of what: String, _ path: SettingKey<Settings>.Path<[Part]>, takes: String, example: String,
    empty: Part, keys: [SettingKey<Part>], isInline: Bool = false,
    check: @escaping @Sendable (Part, [Part]) -> String?
  ) {
    (self.name, self.what) = (name, what)
    read = { node, file, settings throws(SettingsError) in
      guard case .sequence(let nodes) = node else { throw file.error(node, "\(name) takes \(takes)") }
      var parts: [Part] = []
      for node in nodes {
        guard case .mapping(let mapping) = node else {
          throw file.error(node, "each entry of \(name) must have keys, such as \(example)")
        }
        var part = empty
        for (keyNode, value) in mapping {
          let key = keyNode.scalar?.string ?? ""
          guard let text = value.scalar?.string else { throw file.error(keyNode, "\(name)'s \(key) takes one word") }
          guard let known = keys.first(where: { $0.name == key }) else {
            throw file.error(keyNode, "\(name) has no key '\(key)'" + Spelling.meant(key, among: keys.map(\.name)))
          }
          try known.set(.text(text), as: "\(name)'s \(key)", at: file.place(keyNode), in: &part)
        }
        if let problem = check(part, parts) { throw file.error(node, problem) }
        parts.append(part)
      }
      settings[keyPath: path] = parts
    }
    show = { settings in
      let parts = settings[keyPath: path].map { part in
        let values = keys.compactMap { key in key.show.map { (key.name, $0(part)) } }.filter { !$1.isEmpty }
        let texts = values.map { "\($0): \($1)" }
        return isInline ? "  - {\(texts.joined(separator: ", "))}\n" : "  - \(texts.joined(separator: "\n    "))\n"
      }
      return parts.isEmpty ? "" : "\(name):\n\(parts.joined())"
    }
    isSame = { $0[keyPath: path] == $1[keyPath: path] }
  }

  func onlyInFiles(_ place: String) -> SettingsError {
    SettingsError(place: place, reason: "\(name) is a list of \(what), which only a settings file can contain")
  }
}
