import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol
import LinuxSystem

struct Show: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Show one crash report")

  @OptionGroup var connection: ConnectionOptions

  @Flag(name: .shortAndLong, help: "Show registers, images and every frame too")
  var verbose = false

  @Option(
    help: ArgumentHelp("Show this format: text, json, apple or html (crashctl dump writes files)", valueName: "format"))
  var format: ReportFormat?

  @Argument(help: "First digits of the report's id (default: the newest)", completion: .custom(reportCompletions))
  var id: String?

  func run() throws {
    let received = try connection.ask { client throws(ClientError) in try client.report(id: id) }
    if let format {
      if format.isBinary { throw Failure(.usage, "cannot show a \(format.rawValue): write it with crashctl dump") }
      return try connection.show(String(decoding: format.bytes(received), as: UTF8.self))
    }
    if connection.json != .off { return try connection.show(json: received.json) }
    try connection.show(ReportText.text(received, terminal: connection.terminal, verbose: verbose))
  }
}

/// The ids of the newest reports; none without crashd, because a completion cannot report errors.
@Sendable func reportCompletions(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
  let path = SocketPath.find(option: nil, environment: processEnvironment())
  let client = CrashClient(socketPath: path, timeout: .seconds(1))
  do throws(ClientError) {
    // Shells expand completions, so a reply may contribute nothing but digits.
    return try client.list(ListQuery(limit: 100)).map { String($0.id.prefix(12)) }
      .filter { $0.hasPrefix(prefix) && $0.allSatisfy(\.isHexDigit) }
  } catch {
    return []
  }
}
