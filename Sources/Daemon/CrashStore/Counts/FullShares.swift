import Synchronization

/// Remembers for a minute which users' shares of the counts are full.
///
/// Searching for room takes milliseconds in the transaction that stores a crash.
final class FullShares: Sendable {
  /// The kind of entry for which there was no room.
  enum Lack {
    /// There was no room for another program.
    case programs
    /// There was no room for another row.
    case rows
  }

  private struct Key: Hashable {
    var event: EventCount.Event
    var share: Int64
  }

  private struct Finding {
    var lack: Lack
    var end: ContinuousClock.Instant
  }

  private static let rest = Duration.seconds(60)

  private let findings = Mutex<[Key: Finding]>([:])

  /// Returns the last finding about a share; nil if there is no recent finding.
  func lack(_ event: EventCount.Event, _ share: Int64) -> Lack? {
    findings.withLock { findings in
      findings[Key(event: event, share: share)].flatMap { $0.end > .now ? $0.lack : nil }
    }
  }

  func note(_ lack: Lack, _ event: EventCount.Event, _ share: Int64) {
    findings.withLock { findings in
      let now = ContinuousClock.now
      // The number of findings stays small, because a full share has many rows and the rows are limited.
      findings = findings.filter { $0.value.end > now }
      findings[Key(event: event, share: share)] = Finding(lack: lack, end: now + Self.rest)
    }
  }
}
