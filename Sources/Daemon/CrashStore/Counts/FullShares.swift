import Synchronization

/// Remembers for one minute which users have reached the limits for their counts.
///
/// Without this cache, the store would count the user's programs and rows again at each crash after the user has
/// reached a limit. Counting takes milliseconds, in the transaction that stores the crash.
final class FullShares: Sendable {
  /// The limit that the user has reached.
  enum Lack {
    /// The user has the maximum number of programs.
    case programs
    /// The user has the maximum number of rows.
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

  /// Returns the limit that a user has reached; nil if this was not determined within the last minute.
  func lack(_ event: EventCount.Event, _ share: Int64) -> Lack? {
    findings.withLock { findings in
      findings[Key(event: event, share: share)].flatMap { $0.end > .now ? $0.lack : nil }
    }
  }

  func note(_ lack: Lack, _ event: EventCount.Event, _ share: Int64) {
    findings.withLock { findings in
      let now = ContinuousClock.now
      // Remove the entries that have expired. There are few entries: each user with an entry has many rows, and the
      // total number of rows is limited.
      findings = findings.filter { $0.value.end > now }
      findings[Key(event: event, share: share)] = Finding(lack: lack, end: now + Self.rest)
    }
  }
}
