import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol
import LinuxSystem

struct Decode: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show the crashes that a log contains as record lines",
    discussion: """
      With CRASHSHIELD_RECORD=stderr, a process that can reach no crashd prints its crash as one line. This verb finds \
      these lines in a log of any format, and shows their reports. It needs no crashd: it starts a private one. Symbols \
      come from the directories that --symbols names, from files on this machine and from debuginfod servers, always by \
      build id. crashctl import stores the reports.

      Examples:
        kubectl logs --previous shop | crashctl decode -
        crashctl decode shop.log --symbols build/symbols
        aws logs tail /aws/lambda/shop | crashctl decode - --json=short
      """)

  @Argument(help: "Log with record lines, in any format (-: standard input)", completion: .file())
  var log: String

  @Option(
    name: .customLong("symbols"),
    help: ArgumentHelp(
      "Search this directory for images and debug files; may be repeated", valueName: "directory"),
    completion: .directory)
  var directories: [String] = []

  @Option(
    name: .customLong("debuginfod"),
    help: ArgumentHelp(
      "Ask this server for symbols; may be repeated (default: $DEBUGINFOD_URLS)", valueName: "url"))
  var servers: [String] = []

  @Flag(name: .shortAndLong, help: "Show also registers, images and every frame")
  var verbose = false

  @Flag(help: "Show also registers")
  var registers = false

  @Flag(help: "Show also loaded images")
  var images = false

  @Option(
    help: ArgumentHelp("Show this format: text, json, apple or html", valueName: "format"),
    completion: .custom { _, _, _ in Completions.formats })
  var format: ReportFormat?

  @OptionGroup(title: "General options") var output: OutputOptions

  func validate() throws {
    if let format, format.isBinary { throw ValidationError("a record line has no room for a \(format.rawValue)") }
    if let server = servers.first(where: { !$0.hasPrefix("http://") && !$0.hasPrefix("https://") }) {
      throw ValidationError("--debuginfod takes a URL that begins with http:// or https://, not '\(server)'")
    }
  }

  func run() throws {
    let decoding = RecordDecoding(
      path: log, directories: directories, servers: allServers, environment: output.environment)
    try decoding.run { received throws(Failure) in try Output.write(try text(received)) }
  }

  private var allServers: [String] {
    if !servers.isEmpty { return servers }
    let words = (output.environment["DEBUGINFOD_URLS"] ?? "").split(separator: " ").map(String.init)
    return Array(words.filter { $0.hasPrefix("http://") || $0.hasPrefix("https://") }.prefix(8))
  }

  private func text(_ received: ReceivedReport) throws(Failure) -> String {
    if let format { return String(decoding: try output.bytes(received, as: format), as: UTF8.self) }
    if output.json != .off { return try output.text(received.json) }
    var parts: Set<ReportText.Part> = []
    if registers { parts.insert(.registers) }
    if images { parts.insert(.images) }
    return ReportText.text(received, terminal: output.terminal, verbose: verbose, parts: parts) + "\n"
  }
}
