import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol
import CrashReport

struct Incidents: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "List non-fatal incidents: use-after-free, guarded faults and contained traps",
    discussion: """
      Sources: quarantine and pages (use-after-free), guard (a fault that a guard recorded), isolated (a trap that \
      ended a contained request or isolated work). Modes: absorb (the program continued), observe (recorded, not \
      prevented), zero and diagnose (policies of the quarantine).
      """,
    subcommands: [ListIncidents.self, ShowIncident.self, TopIncidents.self, FollowIncidents.self],
    defaultSubcommand: ListIncidents.self)
}

struct Dangling: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "List use-after-free incidents; show and change protection",
    subcommands: [
      ListDangling.self, ShowIncident.self, Classes.self, Statistics.self, Trend.self, Policy.self, Events.self,
      Protect.self, Release.self, Reset.self, Explain.self,
    ], defaultSubcommand: ListDangling.self)

  struct Classes: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "List the protected classes of attached processes")

    @OptionGroup var legend: LegendOptions

    @Option(help: "Only classes of this process")
    var pid: Int?

    @Option(help: "Only classes of programs whose name contains this")
    var name: String?

    @OptionGroup(title: "General options") var connection: ConnectionOptions

    func run() throws {
      let classes = try connection.ask { client throws(ClientError) in
        try client.protectedClasses(pid: pid, name: name)
      }
      if connection.json != .off { try connection.show(json: classes) }
      guard !classes.isEmpty else { throw Failure(.nothingFound, "no attached process protects a class") }
      guard connection.json == .off else { return }
      try connection.show(
        IncidentText.classes(classes, terminal: legend.terminal(connection), legend: !legend.hasNoLegend))
    }
  }
}

struct ListIncidents: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List incidents (100 by default)",
    discussion: """
      On a terminal, one line combines the incidents of all processes that have the same kind and call site, and the \
      incident seen last comes first. In a pipe, each process has its own line, and the incident seen last comes last.
      """)

  @OptionGroup var options: IncidentOptions
  @OptionGroup var filter: IncidentFilterOptions

  func run() throws { try options.list(filter.chosen) }
}

struct ListDangling: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List use-after-free incidents by class, access kind and call site",
    discussion: """
      One line counts all accesses of one kind, from one call site of a program, to objects of one class. It combines \
      all processes, the quarantine and guard pages. DELAY is the time between the last release and the access. FREED \
      BY is the number of functions that released the objects (-v). ID is the id of the incident seen last. The \
      incident seen last comes first on a terminal, and last in a pipe.
      """)

  @OptionGroup var options: IncidentOptions
  @OptionGroup var seen: SeenOptions

  @Flag(help: "Show one line per process and stack, as 'incidents' does")
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
    commandName: "show", abstract: "Show one incident, with the stacks of the access and the last release")

  @Argument(
    help: "First digits of the incident's id, or of the part after its dash (default: the one seen last)",
    completion: .custom(Completions.incidents))
  var id: String?

  @OptionGroup(title: "General options") var connection: ConnectionOptions

  func run() throws {
    let found = try connection.ask { client throws(ClientError) in try client.incidents(id: id, limit: 2) }
    guard let incident = found.first else {
      throw Failure(
        .nothingFound, id.map { "no incident's id begins with '\($0)': see crashctl incidents" } ?? "no incident yet")
    }
    if id != nil, found.count > 1 {
      throw Failure(.nothingFound, "several incidents' ids begin with '\(id ?? "")': give more digits")
    }
    if connection.json != .off { return try connection.show(json: incident) }
    try connection.show(IncidentText.text(incident, terminal: connection.terminal))
  }
}

/// The options of `incidents list` and `dangling list`.
struct IncidentOptions: ParsableArguments {
  @OptionGroup var legend: LegendOptions

  @OptionGroup var options: ListOptions

  @Option(help: "Only incidents of programs whose name contains this")
  var name: String?

  @OptionGroup(title: "General options") var connection: ConnectionOptions

  var nothingSeen: Failure {
    name == nil ? Failure.nothing("no incident yet", of: connection.client) : nothingMatches
  }

  var nothingMatches: Failure { .nothing("no incident matches", of: connection.client) }

  func list(_ filter: IncidentFilter) throws {
    var wanted = filter
    wanted.name = name
    let missing = { filter == IncidentFilter() ? nothingSeen : nothingMatches }
    try list(of: "incidents", missing: missing(), text: IncidentText.list) {
      [wanted] client, offset, limit throws(ClientError) in
      try client.incidents(IncidentQuery(limit: limit, offset: offset, filter: wanted))
    }
  }

  /// Lists items, such as incidents, that crashd returns page by page.
  ///
  /// crashd returns the items in the order of last seen, the newest first.
  func list<Item: Encodable>(
    of what: String, missing: @autoclosure () -> Failure, text: ([Item], Terminal, Bool) -> String,
    ask: (_ client: CrashClient, _ offset: Int?, _ limit: Int) throws(ClientError) -> [Item]
  ) throws {
    let (found, hasMore) = try connection.ask { client throws(ClientError) in
      try OffsetPages.fetch(limit: options.limit) { offset, limit throws(ClientError) in
        try ask(client, offset, limit)
      }
    }
    let items = options.ordered(found, connection)
    if connection.json != .off { try connection.show(json: items) }
    guard !items.isEmpty else { throw missing() }
    let shown = connection.json == .off ? text(items, legend.terminal(connection), !legend.hasNoLegend) : ""
    try connection.show(shown, rest: options.rest(hasMore, of: what), legend: !legend.hasNoLegend)
  }
}
