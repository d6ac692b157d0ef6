import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol

struct Explain: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show the rules behind the diagnosis of a crash",
    discussion: "It applies the current rules; a report made with older ones may have another diagnosis.")

  @OptionGroup var connection: ConnectionOptions

  @Argument(help: "First digits of the report's id (default: the newest)", completion: .custom(reportCompletions))
  var id: String?

  func run() throws {
    let explanation = try connection.ask { client throws(ClientError) in try client.explain(id: id) }
    if connection.json != .off { return try connection.show(json: explanation) }
    try connection.show(ExplanationText.text(explanation, terminal: connection.terminal))
  }
}
