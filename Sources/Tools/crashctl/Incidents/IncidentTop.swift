public import ArgumentParser
import CrashClient
import CrashControl
public import CrashProtocol
import CrashReport

/// Which incidents are meant, apart from the program.
struct IncidentFilterOptions: ParsableArguments {
  @Option(help: ArgumentHelp("Only those of one part: quarantine, pages, guard or isolated.", valueName: "part"))
  var source: String?

  @Option(help: "Only those of one kind, such as index or cast.")
  var kind: String?

  @Option(help: "Only those whose guard stands where this is a part of, such as Shop.swift:12.")
  var site: String?

  @OptionGroup var seen: SeenOptions

  var chosen: IncidentFilter {
    IncidentFilter(
      source: source.map { .init($0) }, kind: kind.map { .init($0) }, site: site, since: seen.sinceText)
  }
}

struct TopIncidents: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "top",
    abstract: "Adds incidents up, what happened most often first: by kind, by site or by program.",
    discussion: "PLACE is where the guard stands; the class of the object where it was no guard that saw it.")

  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var legend: LegendOptions
  @OptionGroup var filter: IncidentFilterOptions

  @Option(help: "What is added up: site, kind or name.")
  var by = IncidentSum.Key.site

  @Option(
    name: [.customShort("n", allowingJoined: true), .customLong("limit")], help: "At most so many; 100 without it.")
  var limit: Int?

  @Option(help: "Only those of programs whose name contains this.")
  var name: String?

  func validate() throws {
    if let limit, limit < 1 { throw ValidationError("-n takes a number from 1, not \(limit)") }
  }

  func run() throws {
    var wanted = filter.chosen
    wanted.name = name
    let sums = try connection.ask { [wanted] client throws(ClientError) in
      try client.topIncidents(by: by, wanted, limit: limit)
    }
    if connection.json != .off { try connection.show(json: sums) }
    guard !sums.isEmpty else { throw Failure.nothing("no incident was seen that matches", of: connection.client) }
    guard connection.json == .off else { return }
    try connection.show(
      IncidentText.sums(sums, by: by, terminal: connection.terminal, legend: !legend.hasNoLegend))
  }
}

extension IncidentSum.Key: ExpressibleByArgument {}
