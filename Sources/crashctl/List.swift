import ArgumentParser
import CrashClient
import CrashControl

struct List: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Lists crashes, the newest last.",
    discussion: """
      Times are local: '2026-11-21', '2026-11-21 08:10[:11]', '08:10', now, today, yesterday, -2h, '2h ago', @1795248611.
      """)

  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var legend: LegendOptions
  @OptionGroup var period: PeriodOptions

  @Option(
    name: [.customShort("n", allowingJoined: true), .customLong("limit")], help: "At most so many, the newest ones.")
  var limit: Int?

  @Flag(name: .shortAndLong, help: "The newest first.")
  var reverse = false

  @Option(help: "Only crashes of this process.")
  var pid: Int?

  @Option(help: "Only crashes of programs whose name contains this.")
  var name: String?

  @Option(help: "Only crashes of the group whose key begins with this.")
  var group: String?

  func validate() throws {
    if let limit, limit < 1 { throw ValidationError("-n takes a number from 1, not \(limit)") }
  }

  func run() throws {
    let query = ListQuery(
      limit: limit, pid: pid, name: name, group: group, since: period.sinceText, until: period.untilText)
    var reports = try connection.ask { client throws(ClientError) in try ReportQuery.fetch(query, from: client) }
    if !reverse { reports.reverse() }
    if connection.json != .off { try connection.show(json: reports) }
    guard !reports.isEmpty else {
      let isRestricted = pid != nil || name != nil || group != nil || period.isRestricting
      let sentence = isRestricted ? "no crash was reported that matches" : "no crash was reported yet"
      throw Failure(.nothingFound, sentence + Failure.hiddenNote)
    }
    guard connection.json == .off else { return }
    let text = Listings.reports(reports, terminal: connection.terminal, legend: !legend.hasNoLegend)
    try connection.show(text)
  }
}
