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
      Formats: json (as crashd stores it), text, apple (.crash), html (one self-contained page), and minidump \
      (registers, images and the recorded stacks, for lldb -c and for services that read minidumps). Without --format \
      the extension of the file decides: .json, .txt, .crash, .html or .dmp.

      Without --scrub the file contains everything that crashd stores: annotations, breadcrumbs and paths. A minidump \
      also contains the memory of the stacks. With --scrub the privacy rules of crashd's settings apply, as they do to \
      forwarded reports. A scrubbed minidump has no stacks. Registers and addresses are never scrubbed.

      Examples:
        crashctl dump -o crash.html             # the newest report as a page
        crashctl dump shop -o shop.dmp          # the newest crash of shop as a minidump
        crashctl dump 7f3a --scrub -o crash.json
      """)

  @OptionGroup var scrub: ScrubOptions

  @Option(
    name: .customLong("format"),
    help: ArgumentHelp(
      "Write this format: json, text, apple, html or minidump (default: by the file's extension, else json)",
      valueName: "format"), completion: .custom { _, _, _ in Completions.formats })
  var chosenFormat: ReportFormat?

  @Option(
    name: .shortAndLong, help: ArgumentHelp("Write to this file (default: standard output)", valueName: "file"),
    completion: .file())
  var output: String?

  @OptionGroup var report: ReportArgument

  @OptionGroup(title: "General options") var connection: ConnectionOptions

  private var format: ReportFormat {
    chosenFormat ?? output.flatMap { ReportFormat(fileName: $0) } ?? .json
  }

  func run() throws {
    let format = format
    if let output, chosenFormat == nil, ReportFormat(fileName: output) == nil,
      output.split(separator: "/").last?.contains(".") == true
    {
      Output.complain("'\(output)' has no known extension: writing \(format.rawValue)")
    }
    if format.isBinary && output == nil && connection.terminal.width != nil {
      throw Failure(.usage, "cannot write a minidump to a terminal: name a file with -o, or pipe it")
    }
    let received = try connection.ask(about: report.word) { client, id throws(ClientError) in
      try client.report(id: id, isScrubbed: scrub.isScrubbed)
    }
    // The privacy rules cannot scrub the memory of a stack, so a scrubbed minidump omits the stacks.
    let stacks = try connection.ask { client throws(ClientError) in
      format == .minidump && !scrub.isScrubbed ? try client.stacks(of: received) : []
    }
    let bytes = try format.bytes(received, stacks: stacks, clock: connection.terminal.clock)
    if let output { return try Output.write(bytes, toFile: output) }
    try Output.write(bytes, to: STDOUT_FILENO)
  }
}
