import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol

struct Debug: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Debug the core dump of a crash in gdb or lldb",
    discussion: """
      crashd neither needs nor keeps core dumps. This command opens a core dump that the kernel or systemd-coredump \
      wrote.
      """)

  @Option(
    help: ArgumentHelp(
      "Use gdb, lldb, or the debugger at a path (default: the first one installed)", valueName: "program"),
    completion: .list(["gdb", "lldb"]))
  var debugger: String?

  @Option(help: ArgumentHelp("Open this core dump", valueName: "file"), completion: .file())
  var core: String?

  @OptionGroup var report: ReportArgument

  @OptionGroup(title: "General options") var connection: ConnectionOptions

  func run() throws {
    let received = try connection.ask(about: report.word) { client, id throws(ClientError) in try client.report(id: id)
    }
    try Debugging(received, environment: connection.environment).run(debugger: debugger, core: core)
  }
}
