import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol

struct Debug: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Opens the core of a crash in gdb or lldb, where the system has kept one.",
    discussion: """
      crashd needs no core and keeps none: this is for those that the kernel or systemd-coredump has written besides.
      """)

  @OptionGroup var connection: ConnectionOptions

  @Option(
    help: ArgumentHelp("gdb, lldb, or a path; the first of them that is there without it.", valueName: "program"))
  var debugger: String?

  @Option(help: ArgumentHelp("This core, wherever it came from.", valueName: "file"), completion: .file())
  var core: String?

  @Argument(help: "The first digits of the report's id; the newest without it.", completion: .custom(reportCompletions))
  var id: String?

  func run() throws {
    let received = try connection.ask { client throws(ClientError) in try client.report(id: id) }
    try Debugging(received, environment: connection.environment).run(debugger: debugger, core: core)
  }
}
