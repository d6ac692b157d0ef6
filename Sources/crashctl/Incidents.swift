import ArgumentParser
import CrashClient
import CrashControl
import CrashReport

struct Incidents: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "What the shield saw while processes went on: uses of dead objects, guards that did their work.",
    subcommands: [ListIncidents.self, ShowIncident.self], defaultSubcommand: ListIncidents.self)
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

  func run() throws { try options.list(source: nil) }
}

struct ListDangling: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Lists uses of dead objects, the one that was seen last at the end.")

  @OptionGroup var options: IncidentOptions

  func run() throws { try options.list(source: "quarantine") }
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

  @Option(
    name: [.customShort("n", allowingJoined: true), .customLong("limit")],
    help: "At most so many, those that were seen last; 100 without it.")
  var limit: Int?

  @Flag(name: .shortAndLong, help: "The one that was seen last first.")
  var reverse = false

  @Option(help: "Only those of programs whose name contains this.")
  var name: String?

  func validate() throws {
    if let limit, limit < 1 { throw ValidationError("-n takes a number from 1, not \(limit)") }
  }

  func list(source: String?) throws {
    var incidents = try connection.ask { client throws(ClientError) in
      try client.incidents(source: source, name: name, limit: limit)
    }
    if !reverse { incidents.reverse() }
    if connection.json != .off { try connection.show(json: incidents) }
    guard !incidents.isEmpty else {
      let sentence = name == nil ? "no incident was seen yet" : "no incident was seen that matches"
      throw Failure(.nothingFound, sentence + Failure.hiddenNote)
    }
    guard connection.json == .off else { return }
    try connection.show(
      IncidentText.list(incidents, terminal: connection.terminal, legend: !legend.hasNoLegend))
  }
}
