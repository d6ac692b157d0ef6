import CrashReport
import CrashStore

extension SettingKey {
  private static let levels: Set = ["trace", "debug", "info", "notice", "warning", "error", "critical"]

  /// Every key there is; `systemd/crashd.yaml` explains each.
  static let all: [SettingKey] = [
    .text("log-level", \.logLevel, "trace, debug, info, notice, warning, error or critical", standard: "info") {
      levels.contains($0)
    },
    .text("runtime-directory", \.runtimeDirectory, "a path", where: isPath),
    .text("state-directory", \.stateDirectory, "a path", where: isPath),
    .text("analyse-path", \.analysePath, "a path", where: isPath),
    .text("fetch-path", \.fetchPath, "a path", where: isPath),
    servers,
    .flag("automatic-protection", \.protectsAutomatically, isLive: false),

    .group("access.group", \.accessGroup),

    .age("retention.age", \.retention.age_s),
    .count("retention.reports-per-group", \.retention.reportsPerGroup),
    .bytes("retention.bytes", \.retention.bytes),
    .bytes("retention.keep-free", \.retention.keepFreeBytes),
    .bytes("retention.minimum", \.retention.minimumBytes),
    .age("retention.history", \.retention.history_s),

    .count("limits.processes", \.limits.processes, isLive: false),
    .count("limits.processes-per-user", \.limits.processesPerUser, isLive: false),
    .count("limits.attaches-per-minute", \.limits.attachesPerMinute, isLive: false),
    .count("limits.greetings-per-user", \.limits.greetingsPerUser, isLive: false),
    .count("limits.rings", \.limits.rings, isLive: false),
    .count("limits.rings-per-user", \.limits.ringsPerUser, isLive: false),
    .count("limits.connections", \.limits.connections, isLive: false),
    .count("limits.connections-per-user", \.limits.connectionsPerUser, isLive: false),
    .bytes("limits.message-bytes", \.limits.messageBytes, atLeast: 1_024, isLive: false),
    .count("limits.symbol-jobs", \.limits.symbolJobs, isLive: false),
    .count("limits.symbol-jobs-per-user", \.limits.symbolJobsAtOncePerUser, isLive: false),
    .count("limits.images-per-user", \.limits.symbolJobsPerUser, isLive: false),
    .milliseconds("limits.symbol-wait", \.limits.symbolWait_ms),
    .bytes("limits.cache-bytes", \.limits.cacheBytes, isLive: false),
    .count("limits.spool-files", \.limits.spoolFiles, isLive: false),
    .count("limits.held-reports", \.limits.heldReports, isLive: false),
    .bytes("limits.held-bytes", \.limits.heldBytes, isLive: false),
    .milliseconds("limits.reader-timeout", \.limits.write_ms),
    .milliseconds("limits.collector-timeout", \.limits.collector_ms),

    .list("privacy.annotations", \.privacy.annotations, "a list of parts of keys"),
    .list("privacy.patterns", \.privacy.patterns, "a list of regular expressions") { TextScrubber.understands($0) },
    .flag("privacy.home-directories", \.privacy.homeDirectories),

    .text("metrics.file", \.metricsFile, "a path", isLive: true, where: isPath),
    .age("metrics.interval", \.metricsInterval_s),
  ]

  /// The list of collectors, which is no single value.
  static let forward = "forward"

  /// The rules that say of which processes no memory is kept: no single value either.
  static let noMemory = "privacy.no-memory"

  /// Both.
  static let parts = [forward, noMemory]

  @Sendable static func isPath(_ text: String) -> Bool { text.hasPrefix("/") && !text.contains("\0") }

  /// Whether a report can have it: as reports write it.
  static func isSignal(_ text: String) -> Bool { (1...64).contains { SignalNames.name(of: $0) == text } }

  static func isHexadecimal(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) }
  }
}

extension SettingKey {
  /// debuginfod's servers: a list in a file; in a text they stand between blanks, as URLs have commas.
  static let servers = SettingKey(
    name: "debuginfod-urls",
    takes: "at most \(DaemonConfiguration.debuginfodLimit) URLs that begin with http:// or https://", isLive: false,
    apply: { settings, value in
      let urls: [String] =
        switch value {
        case .list(let texts): texts
        case .text(let text): text.split(separator: " ").map(String.init)
        }
      guard urls.count <= DaemonConfiguration.debuginfodLimit, urls.allSatisfy(isServer) else { return false }
      settings.debuginfodURLs = urls
      return true
    }, show: { "[\($0.debuginfodURLs.map(SettingText.quoted).joined(separator: ", "))]" })

  // crash-fetch takes them as words of its command line.
  private static func isServer(_ url: String) -> Bool {
    (url.hasPrefix("http://") || url.hasPrefix("https://")) && !url.contains { $0.isWhitespace || $0 == "\0" }
  }
}
