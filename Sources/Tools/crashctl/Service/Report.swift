import ArgumentParser
import CrashControl
import LinuxSystem

struct Report: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Write the pages of crashctl web as files",
    discussion: """
      Writes the newest issues and crashes and the other pages, at most 500, into a directory. The files need no service, \
      so they can be archived or copied to a web server. They contain everything that crashd stores about these crashes.

      Examples:
        crashctl report --html crashes          # then open crashes/index.html
      """)

  @Option(
    help: ArgumentHelp("Write the pages into this directory, which is made if it is missing", valueName: "directory"),
    completion: .directory)
  var html: String

  @Option(
    help: ArgumentHelp(
      "Connect to this socket (default: $CRASHD_SOCKET, else the system's, else the user's)", valueName: "path"),
    completion: .file())
  var socket: String?

  func run() throws {
    try WebPages(environment: processEnvironment()).run(socket: socket, html: html)
  }
}
