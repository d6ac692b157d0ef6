public import CrashShield
public import CrashShieldGuards
public import Logging

extension ShieldIncident {
  /// Logs this incident, with its details as metadata.
  ///
  /// ```swift
  /// Shield.onIncident { incident in incident.log(to: logger) }
  /// ```
  ///
  /// The observer receives the first fault of each kind and call site, then the 10th, the 100th and so on. A fault in a
  /// loop therefore does not fill the disk.
  public func log(to logger: Logger, level: Logger.Level = .warning) {
    let verb = mode == .absorb ? "absorbed" : "observed"
    logger.log(
      level: level, "the shield \(verb) a fault",
      metadata: [
        "shield.kind": "\(kind.name)", "shield.mode": "\(mode)", "shield.reason": "\(reason)",
        "shield.site": "\(place)", "shield.count": "\(count)",
      ])
  }

  private var place: String {
    if !fileID.isEmpty { return "\(fileID):\(line)" }
    return frames.first.map { "0x" + String($0, radix: 16) } ?? "?"
  }
}

extension Shield.Incident {
  /// Logs this incident, with its details as metadata.
  ///
  /// ```swift
  /// for await incident in Shield.incidents { incident.log(to: logger) }
  /// ```
  public func log(to logger: Logger, level: Logger.Level = .warning) {
    var metadata: Logger.Metadata = [
      "shield.kind": "\(kind.name)", "shield.mode": "\(mode)", "shield.subject": "\(subject)",
      "shield.count": "\(count)",
    ]
    if let line { metadata["shield.line"] = "\(line)" }
    logger.log(level: level, "the shield recorded a fault", metadata: metadata)
  }
}

extension Shield.Status {
  /// Logs a failed start; after a successful start, logs the state of the connection to crashd.
  ///
  /// ```swift
  /// Shield.start(release: "shop@1.4.2") { status in status.log(to: logger) }
  /// ```
  ///
  /// A failed start is a warning. An unreachable crashd is a notice, because the spool keeps the crashes. A refusal is
  /// a warning, because an operator has to act.
  public func log(to logger: Logger) {
    if let startError {
      // A second start fails, and the configuration of the first start stays in force.
      let message: Logger.Message =
        isStarted ? "another start of the shield had no effect" : "crashes of this process are not reported"
      logger.warning(message, metadata: ["shield.reason": "\(startError)"])
      return
    }
    switch connection {
    case .attached: logger.info("crashd records the crashes of this process")
    case .unreachable(let reason):
      logger.notice("crashd is unreachable, crashes go to the spool", metadata: ["shield.reason": "\(reason)"])
    case .refused(let reason):
      logger.warning("crashd refuses this process, crashes go to the spool", metadata: ["shield.reason": "\(reason)"])
    case nil: break
    }
  }
}
