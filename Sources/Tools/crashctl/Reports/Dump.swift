public import ArgumentParser
import CrashClient
public import CrashControl
import CrashProtocol
import Glibc

extension ReportFormat: ExpressibleByArgument {}

struct Dump: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Writes one crash into a file: the newest, or the one with this id.",
    discussion: """
      Formats: json (as crashd keeps it), text, apple (.crash), html (one page that needs nothing else), minidump \
      (registers, images and the recorded stacks; for lldb -c and services that read minidumps).

      Without --scrub the file has what crashd keeps: the program's annotations and breadcrumbs, paths, and of a minidump \
      the memory of the stacks. With it the privacy rules of crashd's settings hold, as for forwarding, and a minidump \
      has no stacks; registers and addresses stay.
      """)

  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var scrub: ScrubOptions

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
    let received = try connection.ask { client throws(ClientError) in
      try client.report(id: id, isScrubbed: scrub.isScrubbed)
    }
    // No rule understands what stands in a stack.
    let stacks = try connection.ask { client throws(ClientError) in
      format == .minidump && !scrub.isScrubbed ? try client.stacks(of: received) : []
    }
    let bytes = try format.bytes(received, stacks: stacks)
    if let output { return try Output.write(bytes, toFile: output) }
    try Output.write(bytes, to: STDOUT_FILENO)
  }
}
