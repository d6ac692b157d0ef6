import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol

struct Reanalyze: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Analyze stored crashes again, with the current rules and symbols",
    discussion: """
      A report keeps its id. Subscribers receive the report again if its diagnosis changed. With --all, every crash \
      that matches the filters is analyzed.

      If a report has addresses without function names, install the program's debug files and analyze the report \
      again. crashd searches for debug files below /usr/lib/debug and beside the program.

      Examples:
        crashctl reanalyze                      # the newest report
        crashctl reanalyze --all --exe /srv/shop -S -7d
      """)

  @OptionGroup var count: LimitOptions
  @OptionGroup var filter: FilterOptions

  @Flag(help: "Analyze all matching crashes (newest first) and list changed ones")
  var all = false

  @Argument(help: "First digits of the report's id (default: the newest)", completion: .custom(Completions.reports))
  var id: String?

  @OptionGroup(title: "General options") var connection: ConnectionOptions

  func validate() throws {
    if all, id != nil { throw ValidationError("--all and an id exclude each other") }
    if !all, filter.isRestricting || count.limit != nil {
      throw ValidationError("-n and filters need --all")
    }
  }

  func run() throws {
    if all { return try runAll() }
    let outcome = try connection.ask { client throws(ClientError) in try client.reanalyse(id: id) }
    if connection.json != .off { return try connection.show(json: outcome.report.json) }
    try Output.write(ReportText.line(outcome))
  }

  private func runAll() throws {
    var query = ListQuery(limit: count.limit, filter: filter.filter)
    query.count = true
    var bar = ProgressBar("reanalyze", writesLines: true, environment: connection.environment)
    var pages = ReportPages(query, from: connection.client, hasPreliminary: false)
    var (done, changed, kept) = (0, 0, 0)
    while let page = try connection.ask({ _ throws(ClientError) in try pages.next() }) {
      if done == 0, let more = page.more { bar.total = min(count.limit ?? Int.max, page.reports.count + more) }
      for summary in page.reports {
        switch try reanalyze(summary.id) {
        case let outcome? where outcome.changed:
          changed += 1
          let text = connection.json == .off ? ReportText.line(outcome) : try connection.json.text(outcome.report.json)
          try Output.write(text)
        case .some: break
        case nil: kept += 1
        }
        done += 1
        bar.show(done)
      }
    }
    bar.end()
    if done == 0 { throw filter.nothingFound(connection.client) }
    let rest = kept > 0 ? "; \(kept) were removed, or their records were" : ""
    Output.complain("\(done) analyzed again: \(changed) changed\(rest)")
  }

  /// Returns the new report; nil if the old report was removed or cannot be analyzed again.
  private func reanalyze(_ id: String) throws -> ReanalysedReport? {
    try connection.ask { client throws(ClientError) in
      do throws(ClientError) { return try client.reanalyse(id: id) } catch {
        switch error {
        case .refused(.noSuchReport), .refused(.notReanalysable): return nil
        default: throw error
        }
      }
    }
  }
}

/// The former spelling of `reanalyze`, which scripts can still use.
struct Reanalyse: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: Reanalyze.configuration.abstract, shouldDisplay: false)

  @OptionGroup var command: Reanalyze

  func run() throws { try command.run() }
}
