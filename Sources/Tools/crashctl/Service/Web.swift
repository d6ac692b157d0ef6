import ArgumentParser
import CrashControl
import LinuxSystem

struct Web: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show crashes in a browser",
    discussion: """
      Serves pages on loopback, and prints a link with a one-time token. The pages are read-only, and show what you \
      may read with crashctl. crashd itself listens on no port. Ctrl-C stops the pages.

      Examples:
        crashctl web                            # on any free port of 127.0.0.1
        crashctl web --listen 8080
        crashctl web --listen /tmp/web.sock     # on a Unix socket of your user
        ssh -t -L 8080:127.0.0.1:8080 HOST crashctl web --listen 8080
      """)

  @Option(
    help: ArgumentHelp(
      "Listen on this port of loopback, or on a Unix socket (default: any free port)", valueName: "port|path"),
    completion: .file())
  var listen: String?

  @Option(
    help: ArgumentHelp(
      "Connect to this socket (default: $CRASHD_SOCKET, else the system's, else the user's)", valueName: "path"),
    completion: .file())
  var socket: String?

  func run() throws {
    try WebPages(environment: processEnvironment()).run(socket: socket, listen: listen)
  }
}
