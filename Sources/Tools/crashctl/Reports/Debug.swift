import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol

struct Debug: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Debug the core dump of a crash in gdb or lldb",
    discussion: """
      crashd needs no core dumps and keeps none: this opens one that the kernel or systemd-coredump has written.
      """)

  @OptionGroup var connection: ConnectionOptions

  @Option(
    help: ArgumentHelp(
      "Use gdb, lldb, or the debugger at a path (default: the first one installed)", valueName: "program"))
  var debugger: String?

  @Option(help: ArgumentHelp("Open this core dump", valueName: "file"), completion: .file())
  var core: String?

  @Argument(help: "First digits of the report's id (default: the newest)", completion: .custom(reportCompletions))
  var id: String?

  func run() throws {
    let received = try connection.ask { client throws(ClientError) in try client.report(id: id) }
    try Debugging(received, environment: connection.environment).run(debugger: debugger, core: core)
  }
}
