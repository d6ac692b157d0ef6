import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol

struct Top: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Shows what crashes most, and what crashed last, as it changes.",
    discussion: "q ends it, any other key looks again at once.")

  private static let newest = 50

  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var period: PeriodOptions

  @Option(help: ArgumentHelp("Look again after so long.", valueName: "seconds"))
  var delay = 2

  @Flag(help: "Print it once, and end.")
  var once = false

  func validate() throws {
    guard (1...3_600).contains(delay) else { throw ValidationError("--delay takes 1 to 3600 seconds, not \(delay)") }
  }

  func run() throws {
    if once { return try Output.write(look().text(connection.terminal, rows: nil)) }
    // Before the terminal is taken: what is wrong stays readable.
    var now = try look()
    let screen = try LiveScreen.take()
    repeat {
      try screen.show(now.text(connection.terminal, rows: LiveScreen.rows))
      guard screen.wait(Int32(delay) * 1_000) else { break }
      now = try look()
    } while true
  }

  private func look() throws -> TopText {
    // A time such as -1h is one of the start; without one it is the hour before each look.
    let since = period.sinceText ?? LocalTime.rfc3339((LocalTime.parse("now") ?? 0) - 3_600)
    return try connection.ask { client throws(ClientError) in
      TopText(
        status: try client.status(),
        groups: try client.groups(ReportFilter(since: since, until: period.untilText), limit: 200),
        reports: try ReportQuery.fetch(
          ListQuery(limit: Self.newest, filter: ReportFilter(until: period.untilText)), from: client),
        period: period.isRestricting ? "in the time that was asked for" : "in the last hour")
    }
  }
}
