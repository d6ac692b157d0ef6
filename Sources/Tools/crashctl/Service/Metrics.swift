import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol

struct Metrics: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print crashd's metrics as OpenMetrics text",
    discussion: """
      For Prometheus, crashd also writes this text to a file for node_exporter (the setting metrics.file), or serves \
      it by HTTP (metrics.listen). Alert rules and a Grafana dashboard are in \
      /usr/share/doc/swift-crash-shield/prometheus. Users without full access get the figures of their own processes.
      """)

  @OptionGroup(title: "General options") var connection: ConnectionOptions

  func run() throws {
    let text = try connection.ask { client throws(ClientError) in try client.metrics() }
    if connection.json != .off { return try connection.show(json: ["text": text]) }
    try connection.show(text)
  }
}
