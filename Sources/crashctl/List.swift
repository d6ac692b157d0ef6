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

  // Unconditional: -2h is a time.
  @Option(
    name: [.customShort("S", allowingJoined: true), .long], parsing: .unconditional,
    help: "Only crashes at or after this time.",
    transform: moment)
  var since: Int?

  @Option(
    name: [.customShort("U", allowingJoined: true), .long], parsing: .unconditional,
    help: "Only crashes at or before this time.",
    transform: moment)
  var until: Int?

  @Option(
    name: [.customShort("n", allowingJoined: true), .customLong("limit")], help: "At most so many, the newest ones.")
  var limit: Int?

  @Flag(name: .shortAndLong, help: "The newest first.")
  var reverse = false

  @Option(help: "Only crashes of this process.")
  var pid: Int?

  @Option(help: "Only crashes of programs whose name contains this.")
  var name: String?

  func validate() throws {
    if let limit, limit < 1 { throw ValidationError("-n takes a number from 1, not \(limit)") }
  }

  func run() throws {
    let query = ListQuery(
      limit: limit, pid: pid, name: name, since: since.map(LocalTime.rfc3339),
      until: until.map(LocalTime.rfc3339EndOfSecond))
    var reports = try connection.ask { client throws(ClientError) in try ReportQuery.fetch(query, from: client) }
    if !reverse { reports.reverse() }
    if connection.json != .off { try connection.show(json: reports) }
    guard !reports.isEmpty else {
      let isRestricted = pid != nil || name != nil || since != nil || until != nil
      let sentence = isRestricted ? "no crash was reported that matches" : "no crash was reported yet"
      throw Failure(.nothingFound, sentence + Failure.hiddenNote)
    }
    guard connection.json == .off else { return }
    let text = Listings.reports(reports, terminal: connection.terminal, legend: !legend.hasNoLegend)
    try connection.show(text)
  }
}

/// Reads what `-S` and `-U` take.
@Sendable private func moment(_ text: String) throws -> Int {
  guard let seconds = LocalTime.parse(text) else {
    throw ValidationError("'\(text)' is no time: write such as '2026-11-21 08:10', today, or -2h")
  }
  return seconds
}
