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
