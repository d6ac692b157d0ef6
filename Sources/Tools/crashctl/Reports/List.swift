import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol

struct List: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "List crashes (100 by default)",
    discussion: """
      On a terminal, the newest crash comes first, with its age, and one line combines consecutive crashes of one \
      group. In a pipe, the newest crash comes last, and each crash has its own line with the full time.

      Times are local: '2026-11-21', '2026-11-21 08:10[:11]', '08:10', now, today, yesterday, -2h, '2h ago', @1795248611.

      Examples:
        crashctl list shop                      # crashes of shop: by name, pid, unit, path or group
        crashctl list -S -2h --signal segv      # bad accesses of the last two hours
        crashctl list -v -n 5                   # the newest five, with whole times
        crashctl list --json=short | jq -r '.[].sentence'
      """)

  @OptionGroup var legend: LegendOptions
  @OptionGroup var options: ListOptions
  @OptionGroup(title: "Filters") var filter: FilterOptions

  @Flag(help: "List all crashes, in the order in which they were stored")
  var all = false

  @Flag(name: .shortAndLong, help: "Print only ids")
  var quiet = false

  @Argument(
    help: ArgumentHelp("Only crashes of this pid, program, unit, path or group", valueName: "match"),
    completion: .custom(Completions.matches))
  var match: String?

  @OptionGroup(title: "General options") var connection: ConnectionOptions

  func validate() throws {
    if all, options.count.limit != nil { throw ValidationError("-n and --all exclude each other") }
    if let match, CommandAdvice.isMisplacedVerb(match) {
      throw ValidationError("unexpected argument '\(match)'")
    }
  }

  func run() throws {
    let chosen = try connection.ask { client throws(ClientError) in
      try ReportSelector.filter(match, over: filter.filter, of: client)
    }
    guard let chosen else { throw Failure.nothing("no crash matches '\(match ?? "")'", of: connection.client) }
    if all { try showAll(chosen) } else { try showNewest(chosen) }
  }

  private var nothingFound: Failure {
    match == nil ? filter.nothingFound(connection.client) : .nothing("no crash matches", of: connection.client)
  }

  private func showNewest(_ filter: ReportFilter) throws {
    var query = ListQuery(limit: options.limit, filter: filter)
    // Request the number of all matches only for the note about missing crashes. The note is printed unless the user
    // gave a limit.
    if options.count.limit == nil { query.count = true }
    let page = try connection.ask { client throws(ClientError) in try ReportQuery.newest(query, from: client) }
    let reports = options.ordered(page.reports, connection)
    if connection.json != .off { try connection.show(json: reports) }
    guard !reports.isEmpty else { throw nothingFound }
    let rest = page.more.flatMap { count in
      count > 0 ? Listings.rest(count, of: "crashes", "see --all, -n NUMBER, or -S and -U for a time") : nil
    }
    try connection.show(
      connection.json == .off ? text(reports) : "", rest: rest, legend: !legend.hasNoLegend && !quiet)
  }

  private func text(_ reports: [ReportSummary], isFirst: Bool = true, isWhole: Bool = true) -> String {
    if quiet { return reports.map { $0.id + "\n" }.joined() }
    return Listings.reports(
      reports, terminal: legend.terminal(connection), legend: isFirst && !legend.hasNoLegend, isWhole: isWhole)
  }

  /// Prints page by page, so that only one page is in memory.
  private func showAll(_ filter: ReportFilter) throws {
    var query = ListQuery(filter: filter)
    if !options.isNewestFirst(connection) { query.oldestFirst = true }
    var pages = ReportPages(query, from: connection.client)
    let next: () throws(Failure) -> ReportPage? = { () throws(Failure) in
      do throws(ClientError) { return try pages.next() } catch { throw Failure(error, of: connection.client) }
    }
    guard connection.json == .off else { return try writeJSON(next) }
    guard let first = try next() else { throw nothingFound }
    try connection.show { put throws(Failure) in
      try put(text(first.reports, isWhole: false))
      while let page = try next() { try put(text(page.reports, isFirst: false, isWhole: false)) }
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
    if isEmpty { throw nothingFound }
  }
}
