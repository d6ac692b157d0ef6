import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol
import CrashReport
import Glibc

struct FollowIncidents: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "follow",
    abstract: "Print incidents as they happen, until Ctrl-C",
    discussion: """
      crashctl prints an incident when crashd has stored it, and again when its count grows. That usually takes less \
      than a second, or about half a minute if the process cannot wake crashd. With -S, incidents seen since that time \
      come first. With --json, each incident is one line (pretty: several).
      """)

  @OptionGroup var filter: IncidentFilterOptions

  @Option(help: "Only incidents of programs whose name contains this")
  var name: String?

  @OptionGroup(title: "General options") var connection: ConnectionOptions

  func run() throws {
    // On Ctrl-C, exit at once, because this command does not need to clean up.
    signal(SIGINT) { _ in _exit(130) }
    var wanted = filter.chosen
    wanted.name = name
    var stream = try begin(wanted, after: nil)
    if connection.terminal.width != nil { Output.complain("waiting for incidents (Ctrl-C to stop)") }
    // `printed` is the cursor of the last printed incident. `begun` is the cursor after which the stream was last
    // resumed.
    var (printed, begun): (String?, String?)
    while true {
      let page: IncidentStream.Page?
      do throws(ClientError) {
        page = try stream.next(hangup: STDOUT_FILENO)
      } catch {
        // crashd disconnects a slow reader. In this case, resume after the last printed incident, as `Follow` does.
        guard case .closed = error, let printed, printed != begun else {
          throw Failure(error, of: connection.client)
        }
        begun = printed
        stream = try begin(wanted, after: printed)
        continue
      }
      guard let page else { break }
      if page.lost > 0 {
        Output.complain(
          "\(page.lost) incidents were evicted before they were read, or are unreadable; the remaining ones follow")
      }
      try show(page.incidents)
      printed = page.cursor
    }
    throw Failure(
      .unreachable, "crashd at '\(connection.client.socketPath)' ended the stream: crashd has stopped, try again")
  }

  private func begin(_ filter: IncidentFilter, after cursor: String?) throws(Failure) -> IncidentStream {
    try connection.ask { client throws(ClientError) in try client.followIncidents(filter, after: cursor) }
  }

  private func show(_ incidents: [IncidentReport]) throws {
    for incident in incidents {
      try Output.write(
        connection.json == .off
          ? IncidentText.line(incident, terminal: connection.terminal) : connection.json.text(incident))
    }
  }
}
