import CrashProtocol
public import CrashReport
public import CrashStore

/// The operator's settings: from a file, the environment and the command line.
public struct Settings: Sendable, Equatable {
  /// The lowest level that is logged; nil: info.
  public var logLevel: String?
  /// The directory of the sockets and the spool; nil: from the environment.
  public var runtimeDirectory: String?
  /// The directory of reports and symbol caches; nil: from the environment.
  public var stateDirectory: String?
  /// The path of crash-analyse; nil: beside crashd.
  public var analysePath: String?
  /// The path of crash-fetch; nil: beside crashd.
  public var fetchPath: String?
  /// The debuginfod servers, in the order in which they are asked; empty: no server is asked.
  public var debuginfodURLs: [String] = []
  /// Whether crashd protects classes automatically when use-after-free crashes become more frequent, in programs
  /// without an operator's override.
  public var protectsAutomatically = false
  /// The group whose members see and change everything.
  public var accessGroup = AccessGroup.own
  /// The retention of the store.
  public var retention = RetentionPolicy()
  /// The limits.
  public var limits = Limits()

  /// The collectors that get the events.
  public var forward: [ForwardSettings] = []
  /// What is scrubbed from events before.
  public var privacy = PrivacySettings()
  /// The processes whose memory is not stored.
  public var noMemory: [MemoryRule] = []
  /// The file of metrics for node_exporter; nil: none.
  public var metricsFile: String?
  /// The interval between two files of metrics, in seconds.
  public var metricsInterval_s = 60
  /// The address on loopback at which the metrics can be scraped, such as `127.0.0.1:9779`; nil: none.
  public var metricsListen: String?
  /// Such an address that other machines may reach; nil: none.
  public var metricsListenExposed: String?

  /// The defaults.
  public init() {}

  /// The settings that can change while crashd runs.
  var live: LiveSettings.Values {
    LiveSettings.Values(
      retention: retention, forward: forward, privacy: privacy, noMemory: noMemory, metricsFile: metricsFile,
      metricsInterval_s: metricsInterval_s,
      metricsAddresses: [metricsListen, metricsListenExposed].compactMap { $0.flatMap(MetricsAddress.init) })
  }
}
