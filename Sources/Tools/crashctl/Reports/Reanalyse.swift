import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol

struct Reanalyse: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Analyses stored crashes again, with the rules and symbols of today.",
    discussion: """
      A report keeps its id; who follows sees it again when it says something else now. With --all every crash that the \
      other options leave over, such as crashctl reanalyse --all --exe /srv/shop -S -7d after its debug information was \
      installed.
      """)

  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var count: LimitOptions
  @OptionGroup var filter: FilterOptions

  @Flag(help: "Many crashes, the newest first; those that say something else now are listed.")
  var all = false

  @Argument(help: "The first digits of the report's id; the newest without it.", completion: .custom(reportCompletions))
  var id: String?

  func validate() throws {
    if all, id != nil { throw ValidationError("--all and an id are not given together") }
    if !all, filter.isRestricting || count.limit != nil {
      throw ValidationError("-n and the options that restrict go with --all")
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
    var bar = ProgressBar("reanalyse", writesLines: true, environment: connection.environment)
    var pages = ReportPages(query, from: connection.client, hasPreliminary: false)
    var (done, changed, kept) = (0, 0, 0)
    while let page = try connection.ask({ _ throws(ClientError) in try pages.next() }) {
      if done == 0, let more = page.more { bar.total = min(count.limit ?? Int.max, page.reports.count + more) }
      for summary in page.reports {
        switch try reanalyse(summary.id) {
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
    let rest = kept > 0 ? "; \(kept) have no record any more, or were removed meanwhile" : ""
    Output.complain("\(done) analysed again: \(changed) say something else\(rest)")
  }

  /// nil: it cannot be analysed again, or is gone.
  private func reanalyse(_ id: String) throws -> ReanalysedReport? {
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
