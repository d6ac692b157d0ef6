import CrashProtocol

/// Settings as crashd prints them.
extension SettingsReader {
  /// Every key with its value, a line each, and the collectors: a file that says the same.
  public static func text(_ settings: Settings) -> String {
    let keys = SettingKey.all.map { "\($0.name): \($0.show(settings))".trimmingEnd + "\n" }.joined()
    return keys + list(SettingKey.noMemory, settings.noMemory.map { "  - \($0.text)\n" })
      + list(SettingKey.forward, settings.forward.map(text))
  }

  private static func list(_ name: String, _ parts: [String]) -> String {
    parts.isEmpty ? "" : "\(name):\n\(parts.joined())"
  }

  private static func text(_ forward: ForwardSettings) -> String {
    let filters = filterKeys.compactMap { key in
      forward.filter[keyPath: key.path].map { (key.name, SettingText.quoted($0)) }
    }
    // A reply of varlink is an acknowledgement: there the key says nothing.
    let acknowledge = forward.format == .jsonl ? [("acknowledge", "\(forward.acknowledges)")] : []
    let rest = [("format", forward.format.rawValue)] + acknowledge + [("scrub", "\(forward.scrubs)")] + filters
    return "  - path: \(SettingText.quoted(forward.path))\n" + rest.map { "    \($0): \($1)\n" }.joined()
  }
}

extension String {
  fileprivate var trimmingEnd: String { String(reversed().drop { $0 == " " }.reversed()) }
}
