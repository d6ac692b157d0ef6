import CrashProtocol
public import CrashReport
public import CrashStore

/// Everything that an operator can set: by a file, by the environment, on the command line.
public struct Settings: Sendable, Equatable {
  /// The least level that is logged; nil: info.
  public var logLevel: String?
  /// Where the sockets and the spool are; nil: what the environment says.
  public var runtimeDirectory: String?
  /// Where reports and symbol caches are kept; nil: what the environment says.
  public var stateDirectory: String?
  /// The crash-analyse to use; nil: the one beside crashd.
  public var analysePath: String?
  /// The crash-fetch to use; nil: the one beside crashd.
  public var fetchPath: String?
  /// debuginfod's servers, in the order in which they are asked; none: nobody is asked.
  public var debuginfodURLs: [String] = []
  /// Whether classes are protected by itself when dangling crashes become more frequent, in programs whose operator has
  /// said nothing about it.
  public var protectsAutomatically = false
  /// Whose members see and change everything.
  public var accessGroup = AccessGroup.own
  /// What the store keeps.
  public var retention = RetentionPolicy()
  /// What crashd allows.
  public var limits = Limits()

  /// Collectors that events are sent to.
  public var forward: [ForwardSettings] = []
  /// What is taken out of events before.
  public var privacy = PrivacySettings()
  /// Of which processes no memory is kept.
  public var noMemory: [MemoryRule] = []
  /// Where metrics are written for node_exporter; nil: nowhere.
  public var metricsFile: String?
  /// How often, in seconds.
  public var metricsInterval_s = 60

  /// What crashd does without any of it.
  public init() {}

  /// What can be changed while crashd runs.
  var live: LiveSettings.Values {
    LiveSettings.Values(
      retention: retention, forward: forward, privacy: privacy, noMemory: noMemory, metricsFile: metricsFile,
      metricsInterval_s: metricsInterval_s)
  }
}

/// Why settings cannot be used: one sentence, with the place.
public struct SettingsError: Error, Sendable, Equatable, CustomStringConvertible {
  /// Such as `crashd.yaml:12`, `CRASHD_RETENTION_AGE` or `--set`.
  public var place: String
  /// What is wrong there.
  public var reason: String

  /// Place and reason.
  public var description: String { "\(place): \(reason)" }
}

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
