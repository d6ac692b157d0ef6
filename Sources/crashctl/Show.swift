import ArgumentParser
import CrashClient
import CrashControl

struct Show: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Shows one crash: the newest, or the one with this id.")

  @OptionGroup var connection: ConnectionOptions

  @Flag(name: .shortAndLong, help: "Show registers, images and every frame too.")
  var verbose = false

  @Argument(help: "The first digits of the report's id.", completion: .custom(completions))
  var id: String?

  func run() throws {
    let received = try connection.ask { client throws(ClientError) in try client.report(id: id) }
    if connection.json != .off { return try connection.show(json: received.json) }
    try connection.show(ReportText.text(received, terminal: connection.terminal, verbose: verbose))
  }
}

/// The ids of the newest reports; none while crashd cannot be asked, because a completion has nobody to tell.
@Sendable private func completions(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
  let path = SocketPath.find(option: nil, environment: processEnvironment())
  let client = CrashClient(socketPath: path, timeout: .seconds(1))
  do throws(ClientError) {
    return try client.list(ListQuery(limit: 100)).map { String($0.id.prefix(12)) }.filter { $0.hasPrefix(prefix) }
  } catch {
    return []
  }
}
