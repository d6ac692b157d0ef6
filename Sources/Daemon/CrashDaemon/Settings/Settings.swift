import CrashProtocol
public import CrashReport
public import CrashStore

/// The operator's settings, merged from a file, the environment and the command line.
public struct Settings: Sendable, Equatable {
  /// The minimum level of log lines; nil means info.
  public var logLevel: String?
  /// The directory of the sockets and the spool; nil means that the environment determines it.
  public var runtimeDirectory: String?
  /// The directory of reports and symbol caches; nil means that the environment determines it.
  public var stateDirectory: String?
  /// The path of crash-analyse; nil means that it is in the directory of the crashd executable.
  public var analysePath: String?
  /// The path of crash-fetch; nil means that it is in the directory of the crashd executable.
  public var fetchPath: String?
  /// The debuginfod servers, in the order in which crashd queries them.
  ///
  /// If the list is empty, crashd queries no server.
  public var debuginfodURLs: [String] = []
  /// Whether crashd protects classes automatically when use-after-free crashes become more frequent.
  ///
  /// An operator's override for a program takes precedence.
  public var protectsAutomatically = false
  /// The group whose members can read all reports and change all data.
  public var accessGroup = AccessGroup.own
  /// The limits on age, number and size of stored reports.
  public var retention = RetentionPolicy()
  /// The limits on crashd's resources, such as sizes, numbers and time-outs.
  public var limits = Limits()

  /// The collectors that events are forwarded to.
  public var forward: [ForwardSettings] = []
  /// The rules for scrubbing data from events before they are sent.
  public var privacy = PrivacySettings()
  /// The rules for processes whose memory is not stored.
  public var noMemory: [MemoryRule] = []
  /// The text file with metrics for node_exporter; nil means that no file is written.
  public var metricsFile: String?
  /// The interval between two updates of the metrics file, in seconds.
  public var metricsInterval_s = 60
  /// The loopback address where metrics can be scraped, such as `127.0.0.1:9779`; nil means none.
  public var metricsListen: String?
  /// The address where other machines can scrape metrics; nil means none.
  public var metricsListenExposed: String?

  /// Creates the default settings.
  public init() {}

  /// The settings that can change while crashd runs.
  var live: LiveSettings.Values {
    LiveSettings.Values(
      retention: retention, forward: forward, privacy: privacy, noMemory: noMemory, metricsFile: metricsFile,
      metricsInterval_s: metricsInterval_s,
      metricsAddresses: [metricsListen, metricsListenExposed].compactMap { $0.flatMap(MetricsAddress.init) })
  }
}
