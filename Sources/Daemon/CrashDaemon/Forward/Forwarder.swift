import CrashProtocol
import CrashReport
import CrashStore
import Glibc
import LinuxSystem
import Logging
import Synchronization

/// Sends each event of the store to one collector at least once, and resumes at the collector's stored cursor.
///
/// It holds at most one page of events, so that a slow or absent collector does not delay the other collectors.
struct Forwarder: Sendable {
  struct Configuration: Sendable {
    var store: ReportStore
    var hub: EventHub
    var settings: LiveSettings
    var counts: ForwardCounts
    var limits: Limits
    var logger: Logger
  }

  /// Why a connection ended.
  enum Failure: Error, CustomStringConvertible {
    case closed
    case refused(String)
    case unintelligible
    case tooSlow(Int)

    var description: String {
      switch self {
      case .closed: "the collector closed the connection"
      case .refused(let reason): "the collector refused an event: \(CleanText.line(reason))"
      case .unintelligible: "the collector's answer is not an acknowledgement"
      case .tooSlow(let limit_ms): "the collector did not accept or acknowledge an event within \(limit_ms) ms"
      }
    }
  }

  let forward: ForwardSettings
  let configuration: Configuration

  /// Runs until it is cancelled.
  func run() async {
    var backoff = Backoff()
    var isTold = false
    while !Task.isCancelled {
      let before = configuration.counts.delivered(forward.path)
      do {
        // Connect only when there is an event to send. Until then, the collector need not be running.
        guard let start = try await firstEvent() else { return }
        try await send(from: start)
      } catch {
        if Task.isCancelled { return }
        configuration.counts.change(forward.path) { count in
          count.isConnected = false
          count.failures &+= 1
        }
        // The collector has accepted events since the last failure, so the next failure is logged again.
        if configuration.counts.delivered(forward.path) != before {
          backoff.reset()
          isTold = false
        }
        if !isTold { configuration.logger.warning("cannot forward to '\(forward.path)': \(error); retrying") }
        isTold = true
      }
      do { try await Task.sleep(for: backoff.delay()) } catch { return }
    }
  }

  /// Waits until the store has an event after the collector's cursor; nil if the task is cancelled.
  private func firstEvent() async throws -> StoreCursor? {
    // Subscribe before the first read, so that no event is missed between the two.
    var news = configuration.hub.news().makeAsyncIterator()
    var cursor = try enter()
    var (seen, unreadable) = (cursor, 0)
    while !Task.isCancelled {
      let page = try configuration.store.eventPage(after: seen, filter, limit: 1)
      if !page.events.isEmpty { return cursor }
      (seen, unreadable) = (page.end, unreadable + page.unreadable)
      // Removed and unreadable events are reported together with the next event. Until then, the stored cursor stays
      // before them.
      if seen != cursor, unreadable == 0, try configuration.store.removed(after: cursor, through: seen).count == 0 {
        try keep(seen)
        cursor = seen
      }
      if page.isLast, await news.next() == nil { return nil }
    }
    return nil
  }

  /// Returns the collector's stored cursor.
  ///
  /// A new collector gets one that starts after the last stored event.
  func enter() throws -> StoreCursor {
    try configuration.store.enter(subscriber: forward.subscriber, uid: geteuid(), at: Moment.now().description)
  }

  var filter: ReportFilter { forward.filter }

  func keep(_ cursor: StoreCursor) throws {
    _ = try configuration.store.acknowledge(
      cursor, subscriber: forward.subscriber, uid: geteuid(), at: Moment.now().description)
  }
}

/// Counts delivered events and failures for each collector, for status and metrics.
final class ForwardCounts: Sendable {
  struct Count: Sendable, Equatable {
    var isConnected = false
    /// The delivered events: those that the collector acknowledged or, if it acknowledges none, those that its socket
    /// accepted.
    var delivered = 0
    /// The connections that could not be made or that broke.
    var failures = 0
  }

  private let counts = Mutex<[String: Count]>([:])

  var all: [String: Count] { counts.withLock { $0 } }

  func delivered(_ path: String) -> Int { counts.withLock { $0[path]?.delivered ?? 0 } }

  func change(_ path: String, _ body: (inout Count) -> Void) {
    counts.withLock { body(&$0[path, default: Count()]) }
  }

  func forget(_ path: String) { counts.withLock { $0[path] = nil } }
}
