import CrashProtocol
public import CrashReport
public import CrashStore

/// The operator's settings, merged from a file, the environment and the command line.
public struct Settings: Sendable, Equatable {
  /// The minimum level of log lines; nil means `info`.
  public var logLevel: String?
  /// The directory of the sockets and of the spool, in which processes leave crash records.
  ///
  /// If the value is nil, environment variables determine the directory.
  public var runtimeDirectory: String?
  /// The directory of the reports and the symbol caches; if it is nil, environment variables determine the directory.
  public var stateDirectory: String?
  /// The path of crash-analyse; if it is nil, crashd searches for the program near its own executable.
  public var analysePath: String?
  /// The path of crash-fetch; if it is nil, crashd searches for the program near its own executable.
  public var fetchPath: String?
  /// The debuginfod servers, in the order in which crashd queries them.
  ///
  /// If the list is empty, crashd queries no server.
  public var debuginfodURLs: [String] = []
  /// Directories with images and debug files by build ID, which crashd searches before the path of an image.
  public var symbolDirectories: [String] = []
  /// Whether crashd protects classes automatically when use-after-free crashes become more frequent.
  ///
  /// An operator's override for a program takes precedence.
  public var protectsAutomatically = false
  /// The group whose members can read all reports and change all stored data.
  public var accessGroup = AccessGroup.own
  /// Whether clients in other namespaces can read all reports and change all stored data.
  public var accessRoot = RootAccess.host
  /// The limits on the age, the number and the size of stored reports.
  public var retention = RetentionPolicy()
  /// The limits on crashd's resources, such as sizes, numbers and time-outs.
  public var limits = Limits()

  /// The collectors to which crashd sends events.
  public var forward: [ForwardSettings] = []
  /// The rules for removing sensitive data from events before crashd sends them.
  public var privacy = PrivacySettings()
  /// The rules about processes whose memory crashd must not store.
  public var noMemory: [MemoryRule] = []
  /// The path of the text file with metrics for node_exporter; if it is nil, crashd writes no metrics file.
  public var metricsFile: String?
  /// The interval between two updates of the metrics file, in seconds.
  public var metricsInterval_s = 60
  /// The loopback address at which metrics can be scraped, such as `127.0.0.1:9779`; nil if there is none.
  public var metricsListen: String?
  /// The address at which other machines can scrape metrics; nil if there is none.
  public var metricsListenExposed: String?

  /// Creates settings with the default values.
  public init() {}

  /// The settings that can change while crashd runs.
  var live: LiveSettings.Values {
    LiveSettings.Values(
      retention: retention, forward: forward, privacy: privacy, noMemory: noMemory, metricsFile: metricsFile,
      metricsInterval_s: metricsInterval_s,
      metricsAddresses: [metricsListen, metricsListenExposed].compactMap { $0.flatMap(MetricsAddress.init) })
  }
}
