import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol

struct Explain: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show the rules behind the diagnosis of a crash",
    discussion: "crashd applies its current rules. If older rules produced the report, its diagnosis can differ.")

  @Flag(help: "Show also the rules that do not apply")
  var all = false

  @OptionGroup var report: ReportArgument
  @OptionGroup(title: "General options") var connection: ConnectionOptions

  func run() throws {
    let explanation = try connection.ask(about: report.word) { client, id throws(ClientError) in
      try client.explain(id: id)
    }
    if connection.json != .off { return try connection.show(json: explanation) }
    try connection.show(ExplanationText.text(explanation, terminal: connection.terminal, all: all))
  }
}
