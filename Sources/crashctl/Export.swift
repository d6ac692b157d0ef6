import ArgumentParser
import CrashClient
import CrashControl

struct Export: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Writes many crashes, a line of JSON each, as crashd keeps them; the newest first.",
    discussion: """
      For another place, or for a query that crashctl has not: crashctl export -S today | jq -r .diagnosis.cause
      """)

  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var period: PeriodOptions

  @Option(name: [.customShort("n", allowingJoined: true), .customLong("limit")], help: "At most so many.")
  var limit: Int?

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
    let found = try connection.ask { client throws(ClientError) in try ReportQuery.fetch(query, from: client) }
    guard !found.isEmpty else {
      throw Failure(.nothingFound, "no crash was reported that matches" + Failure.hiddenNote)
    }
    for summary in found {
      // Removed meanwhile: it is not there any more, as if it had been asked for later.
      guard let report = try fetch(summary.id) else { continue }
      try Output.write(JSONStyle.short.text(report.json))
    }
  }

  private func fetch(_ id: String) throws -> ReceivedReport? {
    try connection.ask { client throws(ClientError) in
      do throws(ClientError) { return try client.report(id: id) } catch {
        if case .noSuchReport = error { return nil }
        throw error
      }
    }
  }
}
