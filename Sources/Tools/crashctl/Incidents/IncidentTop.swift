public import ArgumentParser
import CrashClient
import CrashControl
public import CrashProtocol
import CrashReport

/// The filters of incidents, except the program's name.
struct IncidentFilterOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("Only incidents of one source: quarantine, pages, guard or isolated", valueName: "part"),
    completion: .list(IncidentWords.sources), transform: IncidentWords.source)
  var source: IncidentReport.Source?

  @Option(
    help: "Only incidents of one kind, such as index, cast or requestTrap", completion: .list(IncidentWords.kinds),
    transform: IncidentWords.kind)
  var kind: IncidentReport.Kind?

  @Option(help: "Only incidents whose call site contains this, such as Shop.swift:12")
  var site: String?

  @Option(help: ArgumentHelp("Only contained traps of requests with exactly this operation", valueName: "operation"))
  var route: String?

  @OptionGroup var seen: SeenOptions

  var chosen: IncidentFilter {
    IncidentFilter(
      source: source, kind: kind, site: site, route: route, since: seen.sinceText)
  }
}

struct TopIncidents: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "top",
    abstract: "Show the most frequent incidents by kind, call site or program",
    discussion: "PLACE is the call site of the guard, or the class of the object in a use-after-free.")

  @OptionGroup var legend: LegendOptions
  @OptionGroup var filter: IncidentFilterOptions

  @Option(help: "Group by site, kind or name")
  var by = IncidentSum.Key.site

  @Option(
    name: [.customShort("n", allowingJoined: true), .customLong("limit")],
    help: "Show at most this many groups (default: 100)")
  var limit: Int?

  @Option(help: "Only incidents of programs whose name contains this")
  var name: String?

  @OptionGroup(title: "General options") var connection: ConnectionOptions

  func validate() throws {
    if let limit, limit < 1 { throw ValidationError("invalid value '\(limit)' for -n: it takes a number from 1") }
  }

  func run() throws {
    var wanted = filter.chosen
    wanted.name = name
    let sums = try connection.ask { [wanted] client throws(ClientError) in
      try client.topIncidents(by: by, wanted, limit: limit)
    }
    if connection.json != .off { try connection.show(json: sums) }
    guard !sums.isEmpty else {
      let sentence = wanted == IncidentFilter() ? "no incident yet" : "no incident matches"
      throw Failure.nothing(sentence, of: connection.client)
    }
    guard connection.json == .off else { return }
    try connection.show(
      IncidentText.sums(sums, by: by, terminal: legend.terminal(connection), legend: !legend.hasNoLegend))
  }
}

extension IncidentSum.Key: ExpressibleByArgument {}
