import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol

struct Metrics: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print crashd's metrics as OpenMetrics text",
    discussion: "With the setting metrics.file, crashd also writes this text to a file for node_exporter.")

  @OptionGroup(title: "General options") var connection: ConnectionOptions

  func run() throws {
    let text = try connection.ask { client throws(ClientError) in try client.metrics() }
    if connection.json != .off { return try connection.show(json: ["text": text]) }
    try connection.show(text)
  }
}
