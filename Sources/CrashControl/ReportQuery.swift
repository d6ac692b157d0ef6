public import CrashClient

/// Asks for as many reports as the user wants, page by page.
public enum ReportQuery: Sendable {
  private static let pageCount = 500

  /// The newest `limit` reports of the query, all without a limit; newest first.
  public static func fetch(_ query: ListQuery, from client: CrashClient) throws(ClientError) -> [Summary] {
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
