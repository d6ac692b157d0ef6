import CrashSettings
import Logging
import UnixSignals

/// Handles SIGHUP: reads the settings again, and logs which settings changed and which changes need a restart.
struct SettingsReload: Sendable {
  /// The settings with which crashd currently runs.
  var settings: Settings
  var live: LiveSettings
  var logger: Logger

  /// Reads the settings again at each SIGHUP, until the task is canceled.
  func follow(_ hangups: UnixSignalsSequence, by read: @Sendable () throws(SettingsError) -> Settings) async {
    var settings = settings
    for await _ in hangups { settings = reload(settings, by: read) }
  }

  /// Reads the settings again.
  ///
  /// - Returns: The settings that are in effect after the reload.
  func reload(_ old: Settings, by read: @Sendable () throws(SettingsError) -> Settings) -> Settings {
    let new: Settings
    do throws(SettingsError) { new = try read() } catch {
      logger.error("cannot reload the settings: \(error), keeping the old settings")
      return old
    }
    let (changed, needRestart) = Settings.table.changes(from: old, to: new)
    live.change(to: new.live)
    logger.notice("settings reloaded; changed: \(changed.isEmpty ? "nothing" : changed.joined(separator: ", "))")
    if !needRestart.isEmpty {
      logger.warning("these settings need a restart of crashd: \(needRestart.joined(separator: ", "))")
    }
    // `running` keeps the old value of a setting whose change needs a restart. Therefore, each reload logs this change
    // again until crashd restarts.
    var running = old
    (running.retention, running.forward, running.privacy) = (new.retention, new.forward, new.privacy)
    running.noMemory = new.noMemory
    (running.metricsFile, running.metricsInterval_s) = (new.metricsFile, new.metricsInterval_s)
    return running
  }
}
