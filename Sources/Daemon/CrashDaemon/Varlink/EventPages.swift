import CrashProtocol
import CrashStore
import NIOCore

/// Sends the stored events to one subscriber as replies.
struct EventPages: StoredPages {
  let server: VarlinkServer
  let client: Client
  let writer: ReplyWriter
  let filter: ReportFilter
  private let start: StoreCursor
  private let lost: Int
  private let news: AsyncStream<Void>
  private let reader: UInt64

  /// The position of the subscriber in the stored events.
  private struct Progress {
    var cursor: StoreCursor
    /// The number of lost events that the first reply already reported.
    var reported: Int
    /// The number of lost events that the next reply must report.
    var gone = 0
  }

  /// Ordering: this initializer subscribes to `news` before the store is read.
  ///
  /// Otherwise, an event that is stored between the read and the subscription would be missed.
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

  /// Writes the next page of events.
  ///
  /// - Returns: The result is true if the store has no more events now.
  private func writePage(_ progress: inout Progress) async throws -> Bool {
    var page = try read(&progress)
    while let reply = charged({ Self.next(&page, &progress) }) { try await writer.write(reply) }
    progress.cursor = page.end
    server.hub.read(reader, to: page.end)
    return page.isLast
  }

  /// Reads the next page of events and reverses it, so that the next event is the last element.
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

  /// Removes the next event from the page, and returns its reply.
  ///
  /// The event is removed before the reply is written, in order to free memory early.
  private static func next(_ page: inout ReportStore.EventPage, _ progress: inout Progress) -> ByteBuffer? {
    guard let event = page.events.popLast() else { return nil }
    defer { progress.gone = 0 }
    return ReplyFrame.success(
      Methods.Subscribe.Sent(
        cursor: event.cursor.description, report: event.json, lost: progress.gone > 0 ? progress.gone : nil),
      continues: true)
  }
}
