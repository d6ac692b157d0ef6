public import CrashClient
public import CrashProtocol

/// Fetches reports page by page.
public enum ReportQuery: Sendable {
  /// Returns the newest `limit` reports of the query, or all reports if there is no limit.
  ///
  /// The result is sorted by the time of the crash, the latest first.
  ///
  /// crashd returns reports in the order in which they were stored. A report that waited for symbols, or waited in the
  /// spool, can be stored after reports of later crashes.
  public static func fetch(_ query: ListQuery, from client: CrashClient) throws(ClientError) -> [ReportSummary] {
    try newest(query, from: client).reports
  }

  /// Returns the newest reports, as `fetch` does.
  ///
  /// Also returns the number of reports that are older than the returned reports, if the query requests this number and
  /// crashd supports the request.
  public static func newest(_ query: ListQuery, from client: CrashClient) throws(ClientError) -> ReportPage {
    var result = ReportPage(reports: [], more: nil)
    var pages = ReportPages(query, from: client)
    while let page = try pages.next() {
      result.reports += page.reports
      result.more = page.more
    }
    result.reports.sort { $0.time > $1.time }
    return result
  }
}

/// The pages of the result of a query.
///
/// Only one page is in memory at a time.
public struct ReportPages: Sendable {
  private static let pageCount = 500

  private let client: CrashClient
  private let limit: Int?
  private var query: ListQuery
  private var count = 0
  private var isAtEnd = false
  private let hasPreliminary: Bool
  /// The ids of preliminary reports (reports that crashd has not stored yet) on earlier pages.
  ///
  /// A later page can contain the same reports again as stored reports.
  private var preliminary: Set<String> = []

  /// Creates the sequence of pages.
  ///
  /// Only `next()` calls crashd. The pages contain the first `limit` reports of the query, or all reports if there is
  /// no limit.
  ///
  /// - Parameters:
  ///   - query: The query.
  ///   - client: The client of crashd.
  ///   - hasPreliminary: Whether to include reports that are not stored yet.
  public init(_ query: ListQuery, from client: CrashClient, hasPreliminary: Bool = true) {
    self.client = client
    self.hasPreliminary = hasPreliminary
    self.query = query
    limit = query.limit
  }

  /// Returns the next page, which is never empty, or nil after the last page.
  public mutating func next() throws(ClientError) -> ReportPage? {
    while var page = try nextAsListed() {
      page.reports.removeAll { report in
        if report.isPreliminary != true { return preliminary.contains(report.id) }
        return !preliminary.insert(report.id).inserted || !hasPreliminary
      }
      count += page.reports.count
      if !page.reports.isEmpty { return page }
    }
    return nil
  }

  private mutating func nextAsListed() throws(ClientError) -> ReportPage? {
    query.limit = min(Self.pageCount, limit.map { $0 - count } ?? Self.pageCount)
    guard !isAtEnd, query.limit != 0 else { return nil }
    let page = try client.page(query)
    let isOldestFirst = query.oldestFirst == true
    // Stop if the cursor does not advance, because the next call would return the same page again.
    guard let last = page.reports.last, last.cursor != (isOldestFirst ? query.after : query.before) else {
      isAtEnd = true
      return nil
    }
    if isOldestFirst { query.after = last.cursor } else { query.before = last.cursor }
    if page.more == 0 { isAtEnd = true }
    return page
  }
}

/// Reads pages of items that crashd returns by offset, such as groups.
public enum OffsetPages: Sendable {
  private static let pageCount = 500

  /// Returns the first `limit` items, and whether there are items after them.
  public static func fetch<Item>(
    limit: Int, _ ask: (_ offset: Int?, _ limit: Int) throws(ClientError) -> [Item]
  ) throws(ClientError) -> (items: [Item], hasMore: Bool) {
    var items: [Item] = []
    // Read one item more than the limit, to find out whether there are items after the limit.
    while items.count <= limit {
      let wanted = min(Self.pageCount, limit - items.count + 1)
      let page = try ask(items.isEmpty ? nil : items.count, wanted)
      items += page
      if page.count < wanted { break }
    }
    return (Array(items.prefix(limit)), items.count > limit)
  }
}
