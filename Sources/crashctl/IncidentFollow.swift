import ArgumentParser
import CrashClient
import CrashControl
import Glibc

struct FollowIncidents: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "follow",
    abstract: "Prints incidents as they happen, and again as they are counted on, until Ctrl-C.",
    discussion: """
      No process tells of an incident by itself: the memory that it shares with crashd is looked at once a second. With \
      --json each is one line (pretty: several).
      """)

  /// As many as crashd tells.
  private static let most = 1_000
  private static let interval_ms: Int32 = 1_000

  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var filter: IncidentFilterOptions

  @Option(help: "Only those of programs whose name contains this.")
  var name: String?

  func run() throws {
    // Ctrl-C is how this verb ends; nothing is left to clean up.
    signal(SIGINT) { _ in _exit(130) }
    var query = filter.query
    (query.name, query.limit) = (name, Self.most)
    var news = IncidentNews()
    // What was there before is not news.
    _ = news.take(try connection.ask { [query] client throws(ClientError) in try client.incidents(query) })
    while isWanted() {
      query.since = news.since
      let found = try connection.ask { [query] client throws(ClientError) in try client.incidents(query) }
      if found.count == Self.most { Output.complain("more than \(Self.most) incidents at once: some are not shown") }
      for incident in news.take(found) {
        try Output.write(
          connection.json == .off
            ? IncidentText.line(incident, terminal: connection.terminal) : connection.json.text(incident))
      }
    }
  }

  /// Waits a while; false when nobody reads the output any more.
  private func isWanted() -> Bool {
    var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
    // It fills in the one structure.
    return unsafe poll(&output, 1, Self.interval_ms) <= 0
  }
}
