import CrashReport
import CrashSettings
import CrashStore

extension Settings {
  /// The keys of all settings.
  ///
  /// The file `systemd/crashd.yaml` explains each key.
  static let table = SettingsTable<Settings>(
    keys, lists: [noMemoryRules, collectors], variablesBegin: "CRASHD_",
    but: ["CRASHD_SOCKET", "CRASHD_CONFIG", "CRASHD_DESCRIPTOR_STORE"])

  private static let levels: Set = ["trace", "debug", "info", "notice", "warning", "error", "critical"]

  private static let keys: [SettingKey<Settings>] = [
    .text("log-level", \.logLevel, "trace, debug, info, notice, warning, error or critical", standard: "info") {
      levels.contains($0)
    },
    .path("runtime-directory", \.runtimeDirectory),
    .path("state-directory", \.stateDirectory),
    .path("analyse-path", \.analysePath),
    .path("fetch-path", \.fetchPath),
    // In a value on one line, spaces separate the URLs, because a URL can contain commas.
    .list(
      "debuginfod-urls", \.debuginfodURLs,
      "at most \(DaemonConfiguration.debuginfodLimit) URLs that begin with http:// or https://", separator: " ",
      isLive: false
    ) { $0.count <= DaemonConfiguration.debuginfodLimit && $0.allSatisfy(isServer) },
    .list(
      "symbol-directories", \.symbolDirectories, "at most \(DaemonConfiguration.symbolDirectoryLimit) absolute paths",
      separator: ":", isLive: false
    ) { $0.count <= DaemonConfiguration.symbolDirectoryLimit && $0.allSatisfy { $0.hasPrefix("/") } },
    .flag("automatic-protection", \.protectsAutomatically, isLive: false),

    .value(
      "access.group", \.accessGroup, "own, none, or a group's name or number, except 0 and nogroup",
      { AccessGroup($0) }, { $0.text }),
    .value("access.root", \.accessRoot, "host or all", { RootAccess(rawValue: $0) }, { $0.rawValue }),

    .age("retention.age", \.retention.age_s),
    count("retention.reports-per-group", \.retention.reportsPerGroup, isLive: true),
    .bytes("retention.bytes", \.retention.bytes),
    .bytes("retention.keep-free", \.retention.keepFreeBytes),
    .bytes("retention.minimum", \.retention.minimumBytes),
    .age("retention.history", \.retention.history_s),

    count("limits.processes", \.limits.processes),
    count("limits.processes-per-user", \.limits.processesPerUser),
    count("limits.attaches-per-minute", \.limits.attachesPerMinute),
    count("limits.greetings-per-user", \.limits.greetingsPerUser),
    count("limits.rings", \.limits.rings),
    count("limits.rings-per-user", \.limits.ringsPerUser),
    count("limits.connections", \.limits.connections),
    count("limits.connections-per-user", \.limits.connectionsPerUser),
    .bytes("limits.message-bytes", \.limits.messageBytes, atLeast: 1_024, isLive: false),
    count("limits.symbol-jobs", \.limits.symbolJobs),
    count("limits.symbol-jobs-per-user", \.limits.symbolJobsAtOncePerUser),
    count("limits.images-per-user", \.limits.symbolJobsPerUser),
    .milliseconds("limits.symbol-wait", \.limits.symbolWait_ms),
    .bytes("limits.cache-bytes", \.limits.cacheBytes, isLive: false),
    count("limits.spool-files", \.limits.spoolFiles),
    count("limits.held-reports", \.limits.heldReports),
    .bytes("limits.held-bytes", \.limits.heldBytes, isLive: false),
    .milliseconds("limits.reader-timeout", \.limits.write_ms),
    .milliseconds("limits.collector-timeout", \.limits.collector_ms),

    .list("privacy.annotations", \.privacy.annotations, "a list of parts of key names", separator: ",") {
      !$0.contains("")
    },
    .list("privacy.patterns", \.privacy.patterns, "a list of regular expressions", separator: ",") {
      $0.allSatisfy(TextScrubber.understands)
    },
    .flag("privacy.home-directories", \.privacy.homeDirectories),
    .flag("privacy.command-line", \.privacy.commandLine),

    .path("metrics.file", \.metricsFile, isLive: true),
    .age("metrics.interval", \.metricsInterval_s),
    .text(
      "metrics.listen", \.metricsListen,
      "a loopback address and a port such as 127.0.0.1:9779 or [::1]:9779 (metrics.listen-exposed takes others)",
      isLive: true, where: MetricsAddress.isLoopback, write: SettingText.quoted),
    .text(
      "metrics.listen-exposed", \.metricsListenExposed, "a numeric address and a port such as 10.0.0.5:9779",
      isLive: true, where: MetricsAddress.isAddress, write: SettingText.quoted),
  ]

  private static func count(
    _ name: String, _ path: SettingKey<Settings>.Path<Int>, isLive: Bool = false
  ) -> SettingKey<Settings> {
    .number(name, path, "a number", 1...1_000_000, isLive: isLive)
  }

  // crash-fetch receives the URLs as command-line arguments. Therefore, each URL must begin with its scheme and must
  // not contain spaces.
  private static func isServer(_ url: String) -> Bool {
    (url.hasPrefix("http://") || url.hasPrefix("https://")) && !url.contains { $0.isWhitespace || $0 == "\0" }
  }
}
