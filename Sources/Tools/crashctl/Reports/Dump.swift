public import ArgumentParser
import CrashClient
public import CrashControl
import CrashProtocol
import Glibc

extension ReportFormat: ExpressibleByArgument {}

struct Dump: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Export one crash report to a file",
    discussion: """
      Formats: json (as crashd stores it), text, apple (.crash), html (one self-contained page), minidump (registers, \
      images and the recorded stacks; for lldb -c and services that read minidumps).

      Without --scrub the file contains all that crashd stores: annotations, breadcrumbs, paths, and in a minidump the \
      memory of the stacks. With --scrub the privacy rules of crashd's settings apply, as for forwarding, and a minidump \
      has no stacks; registers and addresses stay.
      """)

  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var scrub: ScrubOptions

  @Option(help: ArgumentHelp("Write this format: json, text, apple, html or minidump", valueName: "format"))
  var format = ReportFormat.json

  @Option(name: .shortAndLong, help: ArgumentHelp("Write to this file (default: standard output)", valueName: "file"))
  var output: String?

  @Argument(help: "First digits of the report's id (default: the newest)", completion: .custom(reportCompletions))
  var id: String?

  func run() throws {
    if format.isBinary && output == nil && connection.terminal.width != nil {
      throw Failure(.usage, "cannot write a minidump to a terminal: name a file with -o, or pipe it")
    }
    let received = try connection.ask { client throws(ClientError) in
      try client.report(id: id, isScrubbed: scrub.isScrubbed)
    }
    // The privacy rules cannot read the contents of a stack.
    let stacks = try connection.ask { client throws(ClientError) in
      format == .minidump && !scrub.isScrubbed ? try client.stacks(of: received) : []
    }
    let bytes = try format.bytes(received, stacks: stacks)
    if let output { return try Output.write(bytes, toFile: output) }
    try Output.write(bytes, to: STDOUT_FILENO)
  }
}
