public import ArgumentParser
import CrashClient
public import CrashControl
import Glibc

extension ReportFormat: ExpressibleByArgument {}

struct Dump: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Writes one crash into a file: the newest, or the one with this id.",
    discussion: """
      Formats: json (as crashd keeps it), text, apple (.crash), html (one page that needs nothing else), minidump \
      (registers, images and the recorded stacks; for lldb -c and services that read minidumps).
      """)

  @OptionGroup var connection: ConnectionOptions

  @Option(help: ArgumentHelp("json, text, apple, html or minidump.", valueName: "format"))
  var format = ReportFormat.json

  @Option(name: .shortAndLong, help: ArgumentHelp("The file; standard output without it.", valueName: "file"))
  var output: String?

  @Argument(help: "The first digits of the report's id; the newest without it.", completion: .custom(reportCompletions))
  var id: String?

  func run() throws {
    if format.isBinary && output == nil && connection.terminal.width != nil {
      throw Failure(.usage, "a minidump is not for a terminal: name a file with -o, or pipe it")
    }
    let received = try connection.ask { client throws(ClientError) in try client.report(id: id) }
    let stacks = try connection.ask { client throws(ClientError) in
      format == .minidump ? try client.stacks(of: received) : []
    }
    let bytes = try format.bytes(received, stacks: stacks)
    if let output { return try Output.write(bytes, toFile: output) }
    try Output.write(bytes, to: STDOUT_FILENO)
  }
}
