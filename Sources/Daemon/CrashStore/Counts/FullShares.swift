import Synchronization

/// Remembers for a minute which shares of the counts had no room: a search for room takes milliseconds, in the transaction
/// that stores a crash.
final class FullShares: Sendable {
  /// What there was no room for.
  enum Lack {
    /// Another program.
    case programs
    /// Another row.
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

  /// The last finding about a share; nil: none that is recent.
  func lack(_ event: EventCount.Event, _ share: Int64) -> Lack? {
    findings.withLock { findings in
      findings[Key(event: event, share: share)].flatMap { $0.end > .now ? $0.lack : nil }
    }
  }

  func note(_ lack: Lack, _ event: EventCount.Event, _ share: Int64) {
    findings.withLock { findings in
      let now = ContinuousClock.now
      // Few stay: a full share has many of the rows, which are limited.
      findings = findings.filter { $0.value.end > now }
      findings[Key(event: event, share: share)] = Finding(lack: lack, end: now + Self.rest)
    }
  }
}
