import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol

struct Top: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show the most frequent and the newest crashes, live",
    discussion: "q quits, any other key refreshes.")

  private static let newest = 50

  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var period: PeriodOptions

  @Option(help: ArgumentHelp("Refresh after this time", valueName: "seconds"))
  var delay = 2

  @Flag(help: "Print once and exit")
  var once = false

  func validate() throws {
    guard (1...3_600).contains(delay) else {
      throw ValidationError("invalid value '\(delay)' for --delay: it takes 1 to 3600 seconds")
    }
  }

  func run() throws {
    if once { return try Output.write(look().text(connection.terminal, rows: nil)) }
    // Ask before taking over the terminal, so that an error stays readable.
    var now = try look()
    let screen = try LiveScreen.take()
    repeat {
      try screen.show(now.text(connection.terminal, rows: LiveScreen.rows))
      guard screen.wait(Int32(delay) * 1_000) else { break }
      now = try look()
    } while true
  }

  private func look() throws -> TopText {
    // A relative time such as -1h counts from the start; the default is the hour before each refresh.
    let since = period.sinceText ?? LocalTime.rfc3339((LocalTime.parse("now") ?? 0) - 3_600)
    return try connection.ask { client throws(ClientError) in
      TopText(
        status: try client.status(),
        groups: try client.groups(ReportFilter(since: since, until: period.untilText), limit: 200),
        reports: try ReportQuery.fetch(
          ListQuery(limit: Self.newest, filter: ReportFilter(until: period.untilText)), from: client),
        period: period.isRestricting ? "in the given period" : "in the last hour")
    }
  }
}
