import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol
import CrashReport
import Glibc

struct FollowIncidents: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "follow",
    abstract: "Prints incidents as they happen, and again as they are counted on, until Ctrl-C.",
    discussion: """
      No process tells of an incident by itself: the memory that it shares with crashd is looked at once a second. With \
      -S those that were seen since then come first, and then what happens. With --json each is one line (pretty: several).
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
    var query = IncidentQuery(limit: Self.most, filter: filter.chosen)
    query.filter.name = name
    var news = IncidentNews()
    let before = news.take(try ask(query))
    // What was there before is not news, where nobody asks for it.
    if query.filter.since != nil { try show(before) }
    while isWanted() {
      // Nothing that was seen yet is later than what was asked for.
      query.filter.since = news.since ?? filter.chosen.since
      try show(news.take(try ask(query)))
    }
  }

  private func ask(_ query: IncidentQuery) throws(Failure) -> [IncidentReport] {
    let found = try connection.ask { client throws(ClientError) in try client.incidents(query) }
    if found.count == Self.most { Output.complain("more than \(Self.most) incidents at once: some are not shown") }
    return found
  }

  private func show(_ incidents: [IncidentReport]) throws {
    for incident in incidents {
      try Output.write(
        connection.json == .off
          ? IncidentText.line(incident, terminal: connection.terminal) : connection.json.text(incident))
    }
  }

  /// Waits a while; false when nobody reads the output any more.
  private func isWanted() -> Bool {
    var output = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
    // It fills in the one structure.
    return unsafe poll(&output, 1, Self.interval_ms) <= 0
  }
}
