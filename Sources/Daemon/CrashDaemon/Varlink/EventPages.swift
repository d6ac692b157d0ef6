import CrashProtocol
import CrashStore
import NIOCore

/// Writes the events of one subscriber.
struct EventPages: StoredPages {
  let server: VarlinkServer
  let client: Client
  let writer: ReplyWriter
  let filter: ReportFilter
  private let start: StoreCursor
  private let lost: Int
  private let news: AsyncStream<Void>
  private let reader: UInt64

  /// The subscriber's progress.
  private struct Progress {
    var cursor: StoreCursor
    /// The number of lost events that the first reply has reported.
    var reported: Int
    /// The number of lost events that no reply has reported yet.
    var gone = 0
  }

  /// Ordering: subscribes to news before it reads the store.
  ///
  /// Otherwise an event between the two steps would be missed.
  init(
    _ server: VarlinkServer, _ client: Client, _ writer: ReplyWriter, from start: StoreCursor, _ filter: ReportFilter,
    lost: Int
  ) {
    (self.server, self.client, self.writer) = (server, client, writer)
    (self.start, self.filter, self.lost) = (start, filter, lost)
    news = server.hub.news()
    reader = server.hub.beginReading(at: start)
  }

  func write() async {
    defer { server.hub.endReading(reader) }
    let first = ReplyFrame.success(
      Methods.Subscribe.Sent(ready: true, cursor: start.description, lost: lost > 0 ? lost : nil), continues: true)
    var progress = Progress(cursor: start, reported: lost)
    await write(first: first, news) { try await inTurn { try await writePage(&progress) } }
  }

  /// - Returns: Whether the page was the last one so far.
  private func writePage(_ progress: inout Progress) async throws -> Bool {
    var page = try read(&progress)
    while let reply = charged({ Self.next(&page, &progress) }) { try await writer.write(reply) }
    progress.cursor = page.end
    server.hub.read(reader, to: page.end)
    return page.isLast
  }

  /// Reads the next page, in reverse order.
  private func read(_ progress: inout Progress) throws -> ReportStore.EventPage {
    let store = server.interface.store
    let cursor = progress.cursor
    let (found, missing) = try charged {
      try CPUAccounts.charging {
        let page = try store.eventPage(
          after: cursor, filter, visibility: client.visibility, limit: server.limits.eventBatch,
          limitBytes: server.limits.eventBatchBytes)
        return (page, try store.removed(after: cursor, through: page.end, visibility: client.visibility).count)
      }
    }
    progress.gone += max(0, missing - progress.reported) + found.unreadable
    progress.reported = max(0, progress.reported - missing)
    var page = found
    page.events.reverse()
    return page
  }

  /// Returns the next reply.
  ///
  /// The event is released before its reply is written, to free memory.
  private static func next(_ page: inout ReportStore.EventPage, _ progress: inout Progress) -> ByteBuffer? {
    guard let event = page.events.popLast() else { return nil }
    defer { progress.gone = 0 }
    return ReplyFrame.success(
      Methods.Subscribe.Sent(
        cursor: event.cursor.description, report: event.json, lost: progress.gone > 0 ? progress.gone : nil),
      continues: true)
  }
}
