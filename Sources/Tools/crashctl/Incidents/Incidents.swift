import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol
import CrashReport

struct Incidents: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "What the shield saw while processes went on: uses of dead objects, guards that did their work.",
    subcommands: [ListIncidents.self, ShowIncident.self, TopIncidents.self, FollowIncidents.self],
    defaultSubcommand: ListIncidents.self)
}

struct Dangling: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Uses of objects after their last release, and the classes that are protected from them.",
    subcommands: [
      ListDangling.self, ShowIncident.self, Classes.self, Statistics.self, Trend.self, Policy.self, Events.self,
      Protect.self, Release.self, Explain.self,
    ], defaultSubcommand: ListDangling.self)

  struct Classes: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Lists the protected classes of the attached processes.")

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var legend: LegendOptions

    @Option(help: "Only those of this process.")
    var pid: Int?

    @Option(help: "Only those of programs whose name contains this.")
    var name: String?

    func run() throws {
      let classes = try connection.ask { client throws(ClientError) in
        try client.protectedClasses(pid: pid, name: name)
      }
      if connection.json != .off { try connection.show(json: classes) }
      guard !classes.isEmpty else { throw Failure(.nothingFound, "no attached process protects a class") }
      guard connection.json == .off else { return }
      try connection.show(
        IncidentText.classes(classes, terminal: connection.terminal, legend: !legend.hasNoLegend))
    }
  }
}

struct ListIncidents: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Lists incidents, the one that was seen last at the end.")

  @OptionGroup var options: IncidentOptions
  @OptionGroup var filter: IncidentFilterOptions

  func run() throws { try options.list(filter.chosen) }
}

struct ListDangling: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Lists uses of dead objects, those that were seen last at the end.",
    discussion: """
      What was done in the same way to objects of one class, from one place of one program, is one line, whichever \
      processes did it: seen by the quarantine or in guard slots. AGE is the time between the last release and the \
      use, FREED BY from how many places the objects had been released. ID is the incident that was seen last.
      """)

  @OptionGroup var options: IncidentOptions
  @OptionGroup var seen: SeenOptions

  @Flag(help: "A line for each process and stack, as 'incidents' has them.")
  var each = false

  func run() throws {
    let since = seen.sinceText
    if each { return try options.list(IncidentFilter(source: .quarantine, since: since)) }
    try options.list(of: "uses", missing: options.nothingSeen, text: IncidentText.groups) {
      client, offset, limit throws(ClientError) in
      try client.danglingGroups(name: options.name, since: since, offset: offset, limit: limit)
    }
  }
}

struct ShowIncident: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Shows one incident: who used what, and who had released it.")

  @OptionGroup var connection: ConnectionOptions

  @Argument(help: "The first digits of the incident's id; the one that was seen last without it.")
  var id: String?

  func run() throws {
    let found = try connection.ask { client throws(ClientError) in try client.incidents(id: id, limit: 2) }
    guard let incident = found.first else {
      throw Failure(.nothingFound, id.map { "no incident has an id that begins with \($0)" } ?? "no incident yet")
    }
    if id != nil, found.count > 1 {
      throw Failure(.nothingFound, "several incidents have ids that begin with \(id ?? ""): give more digits")
    }
    if connection.json != .off { return try connection.show(json: incident) }
    try connection.show(IncidentText.text(incident, terminal: connection.terminal))
  }
}

/// What both lists take.
struct IncidentOptions: ParsableArguments {
  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var legend: LegendOptions

  @OptionGroup var options: ListOptions

  @Option(help: "Only those of programs whose name contains this.")
  var name: String?

  var nothingSeen: Failure {
    name == nil ? Failure.nothing("no incident was seen yet", of: connection.client) : nothingMatches
  }

  var nothingMatches: Failure { .nothing("no incident was seen that matches", of: connection.client) }

  func list(_ filter: IncidentFilter) throws {
    var wanted = filter
    wanted.name = name
    let missing = { filter == IncidentFilter() ? nothingSeen : nothingMatches }
    try list(of: "incidents", missing: missing(), text: IncidentText.list) {
      [wanted] client, offset, limit throws(ClientError) in
      try client.incidents(IncidentQuery(limit: limit, offset: offset, filter: wanted))
    }
  }

  /// Lists what crashd numbers from the one that was seen last on.
  func list<Item: Encodable>(
    of what: String, missing: @autoclosure () -> Failure, text: ([Item], Terminal, Bool) -> String,
    ask: (_ client: CrashClient, _ offset: Int?, _ limit: Int) throws(ClientError) -> [Item]
  ) throws {
    let (found, hasMore) = try connection.ask { client throws(ClientError) in
      try OffsetPages.fetch(limit: options.limit) { offset, limit throws(ClientError) in
        try ask(client, offset, limit)
      }
    }
    let items = options.ordered(found)
    if connection.json != .off { try connection.show(json: items) }
    guard !items.isEmpty else { throw missing() }
    let shown = connection.json == .off ? text(items, connection.terminal, !legend.hasNoLegend) : ""
    try connection.show(shown, rest: options.rest(hasMore, of: what), legend: !legend.hasNoLegend)
  }
}
