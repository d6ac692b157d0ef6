import CrashReport

/// The open asks of the fleet (its requests to this host), and which of them this host has answered.
///
/// The fleet stores an answer in the same transaction as the rest of its batch. When the forwarder starts again, it
/// receives the answered asks together with its position, so it answers no ask twice.
struct FleetAsks {
  /// The maximum number of answered asks to remember.
  ///
  /// A fleet has fewer open asks at once.
  private static let limit = 256
  /// The time between two attempts for the same ask, and the maximum number of attempts within this time.
  private static let (pause, attemptLimit) = (Duration.seconds(60), 8)

  private var open: [FleetAsk] = []
  private var answered: [Int] = []
  /// The attempts to protect a class that began less than `pause` ago.
  private var attempts: [(ask: Int, at: ContinuousClock.Instant)] = []

  /// Replaces the open asks by the asks in the newest response of the fleet.
  mutating func replace(_ asks: [FleetAsk]) { open = asks }

  /// Records that an ask needs no answer any more.
  mutating func markAnswered(_ id: Int) {
    if answered.contains(id) { return }
    if answered.count == Self.limit { answered.removeFirst() }
    answered.append(id)
  }

  /// Records that an ask has no answer after all, because the fleet did not accept the report.
  mutating func reopen(_ id: Int) { answered.removeAll { $0 == id } }

  /// Returns whether an ask for the protection of a class can be tried now, and records the attempt.
  mutating func beginsAttempt(_ id: Int, at now: ContinuousClock.Instant) -> Bool {
    attempts.removeAll { $0.at.duration(to: now) >= Self.pause }
    if attempts.count >= Self.attemptLimit || attempts.contains(where: { $0.ask == id }) { return false }
    attempts.append((id, now))
    return true
  }

  /// Returns the asks for the protection of a class that have no answer yet.
  var protections: [(ask: Int, program: String, className: String)] {
    open.compactMap { ask in
      guard case .protect(let program, let className) = ask.subject, !answered.contains(ask.id) else { return nil }
      return (ask.id, program, className)
    }
  }

  /// Returns the asks that want this report and have no answer yet.
  func wanting(_ report: CrashReport) -> [Int] {
    open.compactMap { ask in
      switch ask.subject {
      case .report(let program, let groups):
        guard program == report.process.name, groups.contains(report.group.key) else { return nil }
        return answered.contains(ask.id) ? nil : ask.id
      case .protect: return nil
      }
    }
  }
}
