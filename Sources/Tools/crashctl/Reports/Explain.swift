import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol

struct Explain: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Shows why a crash got its diagnosis: every rule, and what it looked at.",
    discussion: "The rules of today are asked; a report that was made with older ones may say something else.")

  @OptionGroup var connection: ConnectionOptions

  @Argument(help: "The first digits of the report's id; the newest without it.", completion: .custom(reportCompletions))
  var id: String?

  func run() throws {
    let explanation = try connection.ask { client throws(ClientError) in try client.explain(id: id) }
    if connection.json != .off { return try connection.show(json: explanation) }
    try connection.show(ExplanationText.text(explanation, terminal: connection.terminal))
  }
}
