import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol

struct Top: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show the most frequent and the newest crashes, live",
    discussion: """
      Without -S and -U, the period is the last hour.

      Keys: c sorts the groups by number of crashes, l by the time last seen, f by the time first seen. q quits. Any \
      other key refreshes.
      """)

  private static let newest = 50

  @OptionGroup var period: PeriodOptions

  @Option(help: ArgumentHelp("Refresh after this time", valueName: "seconds"))
  var delay = 2

  @Flag(help: "Print once and exit")
  var once = false

  @OptionGroup(title: "General options") var connection: ConnectionOptions

  func validate() throws {
    guard (1...3_600).contains(delay) else {
      throw ValidationError("invalid value '\(delay)' for --delay: it takes 1 to 3600 seconds")
    }
  }

  func run() throws {
    if once { return try Output.write(look(.count).text(connection.terminal, rows: nil)) }
    var order = GroupQuery.Order.count
    // Call crashd before switching the terminal to the full screen, so that an error message stays readable.
    var now = try look(order)
    let screen = try LiveScreen.take()
    while true {
      try screen.show(now.text(connection.terminal, rows: LiveScreen.rows))
      switch screen.wait(Int32(delay) * 1_000) {
      case .quit: return
      case .key("c"): order = .count
      case .key("l"): order = .last
      case .key("f"): order = .first
      case .key, .timeout: break
      }
      now = try look(order)
    }
  }

  private func look(_ order: GroupQuery.Order) throws -> TopText {
    // A relative time such as -1h is relative to the start of the command. Without `-S`, the period is the hour before
    // each refresh.
    let since = period.sinceText ?? LocalTime.rfc3339((LocalTime.parse("now") ?? 0) - 3_600)
    return try connection.ask { client throws(ClientError) in
      TopText(
        status: try client.status(),
        groups: try client.groups(
          GroupQuery(limit: 200, sort: order), ReportFilter(since: since, until: period.untilText)),
        reports: try ReportQuery.fetch(
          ListQuery(limit: Self.newest, filter: ReportFilter(until: period.untilText)), from: client),
        period: period.isRestricting ? "in the given period" : "in the last hour", order: order)
    }
  }
}
