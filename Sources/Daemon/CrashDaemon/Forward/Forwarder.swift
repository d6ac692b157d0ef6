import CrashProtocol
import CrashReport
import CrashStore
import Glibc
import LinuxSystem
import Logging
import Synchronization

/// Sends each event of the store to one collector at least once, starting after the stored cursor of the collector.
///
/// A forwarder holds at most `Limits.eventBatch` events in memory. A slow or missing collector does not delay the other
/// collectors.
struct Forwarder: Sendable {
  struct Configuration: Sendable {
    var store: ReportStore
    var hub: EventHub
    var settings: LiveSettings
    var counts: ForwardCounts
    var limits: Limits
    var logger: Logger
  }

  /// The reason why a connection ended.
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

  /// Sends events until the task is canceled.
  func run() async {
    var backoff = Backoff()
    var isTold = false
    while !Task.isCancelled {
      let before = configuration.counts.delivered(forward.path)
      do {
        // Connect only when the store has an event to send. The collector need not run earlier.
        guard let start = try await firstEvent() else { return }
        try await send(from: start)
      } catch {
        if Task.isCancelled { return }
        configuration.counts.change(forward.path) { count in
          count.isConnected = false
          count.failures &+= 1
        }
        // If the collector has accepted events since the last failure, this is a new failure: log it.
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

  /// Waits until the store has an event after the cursor of the collector; returns nil if the task is canceled.
  private func firstEvent() async throws -> StoreCursor? {
    // Subscribe to news before the first read of the store. Otherwise, an event that is stored between the read and the
    // subscription would be missed.
    var news = configuration.hub.news().makeAsyncIterator()
    var cursor = try enter()
    var (seen, unreadable) = (cursor, 0)
    while !Task.isCancelled {
      let page = try configuration.store.eventPage(after: seen, filter, limit: 1)
      if !page.events.isEmpty { return cursor }
      (seen, unreadable) = (page.end, unreadable + page.unreadable)
      // crashd reports the number of removed and unreadable events to the collector together with the next event. Until
      // then, the collector's stored cursor must not move past these events.
      if seen != cursor, unreadable == 0, try configuration.store.removed(after: cursor, through: seen).count == 0 {
        try keep(seen)
        cursor = seen
      }
      if page.isLast, await news.next() == nil { return nil }
    }
    return nil
  }

  /// Returns the stored cursor of the collector, and registers the collector if it is new.
  ///
  /// The cursor of a new collector is after the last stored event.
  func enter() throws -> StoreCursor {
    try configuration.store.enter(subscriber: forward.subscriber, uid: geteuid(), at: Moment.now().description)
  }

  var filter: ReportFilter { forward.filter }

  func keep(_ cursor: StoreCursor) throws {
    _ = try configuration.store.acknowledge(
      cursor, subscriber: forward.subscriber, uid: geteuid(), at: Moment.now().description)
  }
}

/// Counts the delivered events and the failures of each collector, for the status and the metrics.
final class ForwardCounts: Sendable {
  struct Count: Sendable, Equatable {
    var isConnected = false
    /// The number of delivered events.
    ///
    /// An event is delivered if the collector has acknowledged it or, if the collector sends no acknowledgements, if
    /// the collector's socket has accepted it.
    var delivered = 0
    /// The number of connections that failed or were interrupted.
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
