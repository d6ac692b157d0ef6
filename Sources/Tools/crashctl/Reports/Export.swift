import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol
import CrashReport

struct Export: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Export crash reports as JSON lines (newest first)",
    discussion: """
      Use this to store reports elsewhere, or to query them: crashctl export -S today | jq -r .diagnosis.cause

      Without --scrub a line contains everything that crashd stores: annotations, breadcrumbs and paths. With --scrub \
      the privacy rules of crashd's settings apply, as they do to forwarded reports. Registers and addresses are never \
      scrubbed.
      """)

  @OptionGroup var count: LimitOptions
  @OptionGroup var filter: FilterOptions
  @OptionGroup var scrub: ScrubOptions

  @OptionGroup(title: "General options") var connection: ConnectionOptions

  func run() throws {
    var query = ListQuery(limit: count.limit, filter: filter.filter)
    var bar = ProgressBar("export", writesLines: true, environment: connection.environment)
    query.count = bar.isShown ? true : nil
    var pages = ReportPages(query, from: connection.client, hasPreliminary: false)
    var done = 0
    while let page = try connection.ask({ _ throws(ClientError) in try pages.next() }) {
      // Use the total number from the first page only, because reports that are stored during the export are not
      // exported.
      if done == 0, let more = page.more {
        bar.total = min(count.limit ?? Int.max, page.reports.count + more)
      }
      for summary in page.reports {
        // Skip a report that was removed after the page was read.
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
        // Skip preliminary reports, which are not stored.
        return report.report.isPreliminary == true ? nil : report
      } catch {
        if case .refused(.noSuchReport) = error { return nil }
        throw error
      }
    }
  }
}

/// The option that scrubs reports before they leave the machine.
struct ScrubOptions: ParsableArguments {
  @Flag(
    name: .customLong("scrub"),
    help: """
      Scrub by crashd's privacy rules (secrets in annotations, mail addresses, user names)
      """)
  var isScrubbed = false
}
