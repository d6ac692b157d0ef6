import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol
import CrashReport
import Glibc

struct FollowIncidents: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "follow",
    abstract: "Prints incidents as they happen, and again when their count grows, until Ctrl-C.",
    discussion: """
      An incident is printed when crashd has stored it: usually within a second, and within about half a minute where its \
      process cannot wake crashd. With -S those seen since then come first. With --json each is one line (pretty: several).
      """)

  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var filter: IncidentFilterOptions

  @Option(help: "Only those of programs whose name contains this.")
  var name: String?

  func run() throws {
    // Ctrl-C is how this verb ends; nothing is left to clean up.
    signal(SIGINT) { _ in _exit(130) }
    var wanted = filter.chosen
    wanted.name = name
    var stream = try begin(wanted, after: nil)
    // What was printed last, and after what the stream was begun again.
    var (printed, begun): (String?, String?)
    while true {
      let page: IncidentStream.Page?
      do throws(ClientError) {
        page = try stream.next(hangup: STDOUT_FILENO)
      } catch {
        // As in Follow: who was cut off because of slowness goes on behind what was printed.
        guard case .closed = error, let printed, printed != begun else {
          throw Failure(error, of: connection.client)
        }
        begun = printed
        stream = try begin(wanted, after: printed)
        continue
      }
      guard let page else { break }
      if page.lost > 0 {
        Output.complain("\(page.lost) incidents were evicted before they were read; what is left follows")
      }
      try show(page.incidents)
      printed = page.cursor
    }
    throw Failure(.unreachable, "crashd at '\(connection.client.socketPath)' ended the stream: it stopped, try again")
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
