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
      An incident appears when crashd has stored it, and again when its count grows: usually within a second, and within \
      about half a minute if its process cannot wake crashd. With -S, those seen since then come first. With --json, each \
      is one line (pretty: several).
      """)

  @OptionGroup var filter: IncidentFilterOptions

  @Option(help: "Only those of programs whose name contains this")
  var name: String?

  @OptionGroup(title: "General options") var connection: ConnectionOptions

  func run() throws {
    // Ctrl-C ends this verb; there is nothing to clean up.
    signal(SIGINT) { _ in _exit(130) }
    var wanted = filter.chosen
    wanted.name = name
    var stream = try begin(wanted, after: nil)
    if connection.terminal.width != nil { Output.complain("waiting for incidents (Ctrl-C to stop)") }
    // The cursor printed last, and the cursor of the last resumption.
    var (printed, begun): (String?, String?)
    while true {
      let page: IncidentStream.Page?
      do throws(ClientError) {
        page = try stream.next(hangup: STDOUT_FILENO)
      } catch {
        // As in Follow: resume behind the last printed incident if crashd dropped this slow reader.
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
          "\(page.lost) incidents were evicted before they were read, or cannot be read; the remaining ones follow")
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
