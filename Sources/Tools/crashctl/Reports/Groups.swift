public import ArgumentParser
import CrashClient
import CrashControl
public import CrashProtocol

extension GroupQuery.Order: ExpressibleByArgument {}

struct Groups: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "List, show and resolve groups of equal crashes",
    discussion: """
      States: new (first seen in the newest build, and the program has earlier builds), open, resolved (marked as \
      fixed), regressed (crashed again after that, in any build). On a terminal, resolved groups are hidden without --state all. A group \
      cannot be muted: ignore it where alerts arrive, such as its issue in Sentry.
      """,
    subcommands: [ListGroups.self, ShowGroup.self, Resolve.self, Reopen.self], defaultSubcommand: ListGroups.self)
}

struct ListGroups: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List groups (100 by default)",
    discussion: """
      On a terminal, the group seen last comes first, and resolved groups are hidden. In a pipe, all groups are \
      listed, and the group seen last comes last. With --sort the greatest comes first.

      A group also counts crashes whose reports were removed. With --pid, --unit or --signal it does not, because \
      crashd keeps only the program and the hour of a removed report.

      Examples:
        crashctl groups --sort count -n 10      # what crashes most
        crashctl groups --state new,regressed   # what came with the newest builds, or came back
        crashctl groups show 71c0ff             # one group by build and by day
      """)

  @OptionGroup var legend: LegendOptions
  @OptionGroup var options: ListOptions

  @Option(
    help: ArgumentHelp("Sort by: last, first (seen) or count", valueName: "order"),
    completion: .custom { _, _, _ in Completions.orders })
  var sort: GroupQuery.Order?

  @Option(
    help: ArgumentHelp("Only groups in these states: new, open, resolved, regressed or all", valueName: "states"),
    completion: .custom { _, _, _ in Completions.states }, transform: GroupStates.init)
  var state: GroupStates?

  @OptionGroup(title: "Filters") var filter: FilterOptions
  @OptionGroup(title: "General options") var connection: ConnectionOptions

  /// Whether resolved groups are hidden, which is the default on a terminal.
  private var hidesResolved: Bool { state == nil && connection.json == .off && connection.terminal.width != nil }

  func run() throws {
    let filter = self.filter.filter
    let states = hidesResolved ? GroupStates.unresolved.states : state?.states
    let (found, hasMore) = try connection.ask { client throws(ClientError) in
      try OffsetPages.fetch(limit: options.limit) { offset, limit throws(ClientError) in
        try client.groups(GroupQuery(limit: limit, offset: offset, sort: sort, states: states), filter)
      }
    }
    let isGreatestFirst = sort != nil && !options.isOldestFirst
    let groups = isGreatestFirst ? found : options.ordered(found, connection)
    if connection.json != .off { try connection.show(json: groups) }
    let note = hidesResolved ? try hidden(filter) : nil
    if groups.isEmpty, let note { throw Failure(.nothingFound, note) }
    guard !groups.isEmpty else {
      throw state == nil
        ? self.filter.nothingFound(connection.client) : Failure.nothing("no group matches", of: connection.client)
    }
    let text =
      connection.json == .off
      ? Listings.groups(groups, terminal: legend.terminal(connection), legend: !legend.hasNoLegend) : ""
    let rest = [options.rest(hasMore, of: "groups"), note].compactMap { $0 }.joined(separator: "; ")
    try connection.show(text, rest: rest.isEmpty ? nil : rest, legend: !legend.hasNoLegend)
  }

  private func hidden(_ filter: ReportFilter) throws -> String? {
    let resolved = try connection.ask { client throws(ClientError) in
      try client.groups(GroupQuery(limit: 1, states: [.resolved]), filter)
    }
    return resolved.isEmpty ? nil : "resolved groups are hidden: see --state all"
  }
}

/// The value of `--state`: states, separated by commas.
struct GroupStates {
  /// The states that the option selects.
  ///
  /// If nil, all states are selected.
  var states: [GroupQuery.State]?

  static let unresolved = GroupStates(states: [.new, .open, .regressed])

  init(states: [GroupQuery.State]?) { self.states = states }

  init(_ text: String) throws {
    if text == "all" {
      states = nil
      return
    }
    states = try text.split(separator: ",").map { word in
      guard let state = GroupQuery.State(rawValue: String(word)) else {
        throw ValidationError("invalid state '\(word)': it is new, open, resolved, regressed or all")
      }
      return state
    }
    if states?.isEmpty != false { throw ValidationError("--state takes new, open, resolved, regressed or all") }
  }
}

struct ShowGroup: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show", abstract: "Show one group: crashes by build and by day, and its newest report",
    discussion: """
      --contrast compares the stored crashes of the group with the other crashes of the same programs, at most 500 with \
      1,500. It lists values that are more frequent in the group: builds, hosts, kernels, CPUs, pods, routes, tags, \
      arguments, kinds of threads, hours, uptimes and memory. GROUP and OTHERS are shares of the crashes. LIFT is the \
      share in the group, divided by the share in all compared crashes. P is the probability of such a difference by \
      chance (Fisher's exact test), corrected for the number of tests (Holm).

      Example:
        crashctl groups show 71c0ff --contrast   # only on one host? only on one route?
      """)

  @Argument(help: "First digits of the group's key", completion: .custom(Completions.groups))
  var key: String

  @Flag(help: "Show what sets the group apart from the other crashes of its programs")
  var contrast = false

  @OptionGroup(title: "General options") var connection: ConnectionOptions

  func run() throws {
    let detail = try connection.ask { client throws(ClientError) in try client.group(key: key) }
    let compared =
      contrast ? try connection.ask { client throws(ClientError) in try client.contrast(key: key) } : nil
    if connection.json != .off { return try connection.show(json: ContrastedGroup(detail: detail, contrast: compared)) }
    let terminal = connection.terminal
    let newest = detail.groups.max { $0.last < $1.last }?.report ?? ""
    var text = GroupDetailText.text(detail, terminal: terminal)
    if let compared { text += "\n" + ContrastText.text(compared, terminal: terminal) }
    if !newest.isEmpty {
      let received = try connection.ask { client throws(ClientError) in try client.report(id: newest) }
      text +=
        "\n" + terminal.styled("The newest report", .bold) + "\n\n" + ReportText.text(received, terminal: terminal)
    }
    try connection.show(text)
  }
}

/// A group in JSON, with the key `contrast` if the user requested it.
private struct ContrastedGroup: Encodable {
  var detail: GroupDetail
  var contrast: GroupContrast?

  private enum CodingKeys: CodingKey { case contrast }

  func encode(to encoder: any Encoder) throws {
    try detail.encode(to: encoder)
    guard let contrast else { return }
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(contrast, forKey: .contrast)
  }
}

struct Resolve: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Mark a group as resolved; a new crash marks it as regressed",
    discussion: """
      The mark covers the crashes up to now. A later crash, in any build, makes the group regressed. resolve then \
      marks it as resolved again. reopen removes the mark.
      """)

  @Argument(help: "First digits of the group's key", completion: .custom(Completions.groups))
  var key: String

  @OptionGroup(title: "General options") var connection: ConnectionOptions

  func run() throws { try setResolved(true, group: key, over: connection) }
}

struct Reopen: ParsableCommand {
  static let configuration = CommandConfiguration(abstract: "Reopen a resolved group")

  @Argument(help: "First digits of the group's key", completion: .custom(Completions.groups))
  var key: String

  @OptionGroup(title: "General options") var connection: ConnectionOptions

  func run() throws { try setResolved(false, group: key, over: connection) }
}

private func setResolved(_ isResolved: Bool, group key: String, over connection: ConnectionOptions) throws {
  let whole = try connection.ask { client throws(ClientError) in try client.setResolved(isResolved, group: key) }
  if connection.json != .off { return try connection.show(json: ["key": whole]) }
  try Output.write("group \(whole) is \(isResolved ? "resolved" : "open")\n")
}
