import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol
import CrashReport

struct Export: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Writes many crashes, a line of JSON each, as crashd keeps them; the newest first.",
    discussion: """
      For another place, or for a query that crashctl has not: crashctl export -S today | jq -r .diagnosis.cause

      Without --scrub a line has what crashd keeps: the program's annotations and breadcrumbs, paths. With it the privacy \
      rules of crashd's settings hold, as for forwarding; registers and addresses stay.
      """)

  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var count: LimitOptions
  @OptionGroup var filter: FilterOptions
  @OptionGroup var scrub: ScrubOptions

  func run() throws {
    var query = ListQuery(limit: count.limit, filter: filter.filter)
    var bar = ProgressBar("export", writesLines: true, environment: connection.environment)
    query.count = bar.isShown ? true : nil
    var pages = ReportPages(query, from: connection.client, hasPreliminary: false)
    var done = 0
    while let page = try connection.ask({ _ throws(ClientError) in try pages.next() }) {
      // What is new meanwhile is not asked for: the number is that of the first page.
      if done == 0, let more = page.more {
        bar.total = min(count.limit ?? Int.max, page.reports.count + more)
      }
      for summary in page.reports {
        // Removed meanwhile: it is not there any more, as if it had been asked for later.
        if let report = try fetch(summary.id) { try Output.write(JSONStyle.short.text(report.json)) }
        done += 1
        bar.show(done)
      }
    }
    bar.end()
    if done == 0 { throw filter.nothingFound(connection.client) }
  }

  private func fetch(_ id: String) throws -> ReceivedReport? {
    try connection.ask { client throws(ClientError) in
      do throws(ClientError) {
        let report = try client.report(id: id, isScrubbed: scrub.isScrubbed)
        // An export is of what is stored.
        return report.report.isPreliminary == true ? nil : report
      } catch {
        if case .refused(.noSuchReport) = error { return nil }
        throw error
      }
    }
  }
}

/// For reports that leave the machine.
struct ScrubOptions: ParsableArguments {
  @Flag(
    name: .customLong("scrub"),
    help: """
      Without what crashd's privacy rules name (secrets in annotations, addresses of mail, users' names); otherwise as \
      crashd keeps it.
      """)
  var isScrubbed = false
}
