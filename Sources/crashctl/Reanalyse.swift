import ArgumentParser
import CrashClient
import CrashControl

struct Reanalyse: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Analyses a stored crash again, with the rules and symbols of today.",
    discussion: "The report keeps its id; who follows sees it again when it says something else now.")

  @OptionGroup var connection: ConnectionOptions

  @Argument(help: "The first digits of the report's id; the newest without it.", completion: .custom(reportCompletions))
  var id: String?

  func run() throws {
    let outcome = try connection.ask { client throws(ClientError) in try client.reanalyse(id: id) }
    if connection.json != .off { return try connection.show(json: outcome.report.json) }
    try Output.write(ReportText.line(outcome))
  }
}
