import CrashProtocol
import CrashReport
import CrashStore
import NIOCore

/// Writes the incidents of an `Incidents` call with `more`, with one reply per page.
///
/// If an incident occurs again before a slow client has read it, the client receives the incident only once, with its
/// latest count. Therefore, the amount of data that waits for the client cannot exceed the size of the store.
struct IncidentPages: StoredPages {
  let server: VarlinkServer
  let client: Client
  let writer: ReplyWriter
  let filter: IncidentFilter
  private let start: StoreCursor
  /// The number of evicted incidents that must not be reported as lost.
  ///
  /// The number counts the incidents that were evicted before the call. A client that sends no cursor cannot have
  /// missed these incidents.
  private let evictedBefore: Int
  private let news: AsyncStream<Void>

  init(_ server: VarlinkServer, _ client: Client, _ writer: ReplyWriter, _ query: IncidentQuery) throws(ProtocolError) {
    (self.server, self.client, self.writer) = (server, client, writer)
    let interface = server.interface
    news = server.hub.news(of: .incidents, for: client.visibility)
    filter = try interface.checked(query.filter)
    let given = try interface.cursor(query.cursor, kind: .incident)
    let (filter, visibility) = (filter, client.visibility)
    (start, evictedBefore) = try interface.reading { () throws(StoreError) in
      guard let given else {
        let evicted = filter.since == nil ? 0 : try interface.store.evictedIncidents(visibility: visibility)
        return (try interface.store.incidentCursor(isNewest: filter.since == nil), evicted)
      }
      _ = try interface.store.incidentPage(after: given, filter, visibility: visibility, limit: 0)
      return (given, 0)
    }
  }

  func write() async {
    var (cursor, uncounted) = (start, evictedBefore)
    await write(first: Self.reply([], start), news) {
      try await inTurn {
        let page = try charged {
          try CPUAccounts.charging {
            try server.interface.store.incidentPage(
              after: cursor, filter, visibility: client.visibility, limit: server.limits.eventBatch,
              limitBytes: server.limits.eventBatchBytes)
          }
        }
        let lost = max(0, page.lost - uncounted)
        uncounted = page.isLast ? 0 : max(0, uncounted - page.lost)
        if !page.incidents.isEmpty || lost > 0 {
          try await writer.write(charged { Self.reply(page.incidents, page.end, lost: lost) })
        }
        cursor = page.end
        return page.isLast
      }
    }
  }

  private static func reply(_ incidents: [IncidentReport], _ cursor: StoreCursor, lost: Int = 0) -> ByteBuffer {
    ReplyFrame.success(
      Methods.Incidents.Reply(incidents: incidents, cursor: cursor.description, lost: lost > 0 ? lost : nil),
      continues: true)
  }
}
