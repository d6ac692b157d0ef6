import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol

struct List: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "List crashes (newest last, 100 by default)",
    discussion: """
      Times are local: '2026-11-21', '2026-11-21 08:10[:11]', '08:10', now, today, yesterday, -2h, '2h ago', @1795248611.
      """)

  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var legend: LegendOptions
  @OptionGroup var options: ListOptions
  @OptionGroup var filter: FilterOptions

  @Flag(help: "List all of them, in the order in which they were stored")
  var all = false

  func validate() throws {
    if all, options.count.limit != nil { throw ValidationError("-n and --all exclude each other") }
  }

  func run() throws {
    if all { try showAll() } else { try showNewest() }
  }

  private func showNewest() throws {
    var query = ListQuery(limit: options.limit, filter: filter.filter)
    // A user who gives a number needs no note about more crashes.
    if options.count.limit == nil { query.count = true }
    let page = try connection.ask { client throws(ClientError) in try ReportQuery.newest(query, from: client) }
    let reports = options.ordered(page.reports)
    if connection.json != .off { try connection.show(json: reports) }
    guard !reports.isEmpty else { throw filter.nothingFound(connection.client) }
    let text =
      connection.json == .off
      ? Listings.reports(reports, terminal: connection.terminal, legend: !legend.hasNoLegend) : ""
    let rest = page.more.flatMap { count in
      count > 0 ? Listings.rest(count, of: "crashes", "see --all, -n NUMBER, or -S and -U for a time") : nil
    }
    try connection.show(text, rest: rest, legend: !legend.hasNoLegend)
  }

  /// Prints page by page, so that only one page is in memory.
  private func showAll() throws {
    var query = ListQuery(filter: filter.filter)
    if !options.reverse { query.oldestFirst = true }
    var pages = ReportPages(query, from: connection.client)
    let next: () throws(Failure) -> ReportPage? = { () throws(Failure) in
      do throws(ClientError) { return try pages.next() } catch { throw Failure(error, of: connection.client) }
    }
    guard connection.json == .off else { return try writeJSON(next) }
    guard let first = try next() else { throw filter.nothingFound(connection.client) }
    let (terminal, legend) = (connection.terminal, !legend.hasNoLegend)
    try connection.show { put throws(Failure) in
      try put(Listings.reports(first.reports, terminal: terminal, legend: legend))
      while let page = try next() { try put(Listings.reports(page.reports, terminal: terminal, legend: false)) }
    }
  }

  private func writeJSON(_ next: () throws(Failure) -> ReportPage?) throws {
    var writer = JSONArrayWriter(connection.json)
    var isEmpty = true
    while let page = try next() {
      isEmpty = false
      try Output.write(writer.text(page.reports))
    }
    try Output.write(writer.end())
    if isEmpty { throw filter.nothingFound(connection.client) }
  }
}
