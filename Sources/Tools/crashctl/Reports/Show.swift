import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol
import LinuxSystem

struct Show: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show one crash report",
    discussion: """
      Examples:
        crashctl show                           # the newest report
        crashctl show 7f3a                      # by the first digits of its id
        crashctl show 14268                     # the newest report of a pid
        crashctl show shop                      # of a program, unit, path or group
        crashctl show -v shop | less            # with registers, images and all threads
      """)

  @Flag(name: .shortAndLong, help: "Show also registers, images, all threads and every frame")
  var verbose = false

  @Flag(help: "Show also registers")
  var registers = false

  @Flag(help: "Show also the threads that did not crash")
  var threads = false

  @Flag(help: "Show also loaded images")
  var images = false

  @Option(
    help: ArgumentHelp("Show this format: text, json, apple or html (crashctl dump writes files)", valueName: "format"),
    completion: .custom { _, _, _ in Completions.formats })
  var format: ReportFormat?

  @OptionGroup var report: ReportArgument
  @OptionGroup(title: "General options") var connection: ConnectionOptions

  func run() throws {
    let received = try connection.ask(about: report.word) { client, id throws(ClientError) in try client.report(id: id)
    }
    if let format {
      if format.isBinary { throw Failure(.usage, "cannot show a \(format.rawValue): write it with crashctl dump") }
      let bytes = try format.bytes(received, clock: connection.terminal.clock)
      return try connection.show(String(decoding: bytes, as: UTF8.self))
    }
    if connection.json != .off { return try connection.show(json: received.json) }
    var parts: Set<ReportText.Part> = []
    if registers { parts.insert(.registers) }
    if threads { parts.insert(.threads) }
    if images { parts.insert(.images) }
    let earlier = ReportSelector.crash(before: received.report, of: connection.client)
    try connection.show(
      ReportText.text(received, terminal: connection.terminal, verbose: verbose, parts: parts, earlier: earlier))
  }
}
