public import CrashClient

/// Asks for as many reports as the user wants, page by page.
public enum ReportQuery: Sendable {
  private static let pageCount = 500

  /// The newest `limit` reports of the query, all without a limit; the last crash first.
  ///
  /// crashd gives them in the order in which they were stored, where one that waited for its symbols, or in the spool,
  /// comes later than it crashed.
  public static func fetch(_ query: ListQuery, from client: CrashClient) throws(ClientError) -> [Summary] {
    try pages(query, from: client).sorted { $0.time > $1.time }
  }

  private static func pages(_ query: ListQuery, from client: CrashClient) throws(ClientError) -> [Summary] {
    var result: [Summary] = []
    var page = query
    while true {
      page.limit = min(pageCount, query.limit.map { $0 - result.count } ?? pageCount)
      guard page.limit != 0 else { return result }
      let reports = try client.list(page)
      result += reports
      // A cursor that does not move would ask for the same page for ever.
      guard let last = reports.last, last.cursor != page.before else { return result }
      page.before = last.cursor
    }
  }
}
