import CrashProtocol
public import CrashReport
public import CrashStore

/// The operator's settings: from a file, the environment and the command line.
public struct Settings: Sendable, Equatable {
  /// The minimum level of log lines; nil means info.
  public var logLevel: String?
  /// The directory of the sockets and the spool; nil means the directory from the environment.
  public var runtimeDirectory: String?
  /// The directory of reports and symbol caches; nil means the directory from the environment.
  public var stateDirectory: String?
  /// The path of crash-analyse; nil means the directory of crashd.
  public var analysePath: String?
  /// The path of crash-fetch; nil means the directory of crashd.
  public var fetchPath: String?
  /// The debuginfod servers, in the order in which crashd queries them.
  ///
  /// If empty, crashd queries no server.
  public var debuginfodURLs: [String] = []
  /// Whether crashd protects classes automatically when use-after-free crashes become more frequent.
  ///
  /// An operator's override for a program takes precedence.
  public var protectsAutomatically = false
  /// The group whose members can read and change everything.
  public var accessGroup = AccessGroup.own
  /// The retention of the store.
  public var retention = RetentionPolicy()
  /// The limits.
  public var limits = Limits()

  /// The collectors that receive events.
  public var forward: [ForwardSettings] = []
  /// The data that is scrubbed from events before they are sent.
  public var privacy = PrivacySettings()
  /// The processes whose memory is not stored.
  public var noMemory: [MemoryRule] = []
  /// The file of metrics for node_exporter; nil means no file.
  public var metricsFile: String?
  /// The interval between two updates of the metrics file, in seconds.
  public var metricsInterval_s = 60
  /// The loopback address where the metrics can be scraped, such as `127.0.0.1:9779`; nil means none.
  public var metricsListen: String?
  /// An address for metrics that other machines can reach; nil means none.
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
