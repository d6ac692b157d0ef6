import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol

struct Groups: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Crashes of one kind together: how often, since when, in which builds.",
    discussion: """
      States: new (first seen in the newest build of its program), open, resolved (you said so), regressed (it came \
      back after that).
      """,
    subcommands: [ListGroups.self, Resolve.self, Reopen.self], defaultSubcommand: ListGroups.self)

  struct ListGroups: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "Lists groups, the one that was seen last at the end; 100 without -n.",
      discussion: """
        A group counts crashes whose report was removed, too, except with --pid, --unit or --signal: of those only the \
        program and the hour are kept.
        """)

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var legend: LegendOptions
    @OptionGroup var options: ListOptions
    @OptionGroup var filter: FilterOptions

    func run() throws {
      let filter = self.filter.filter
      let (found, hasMore) = try connection.ask { client throws(ClientError) in
        try OffsetPages.fetch(limit: options.limit) { offset, limit throws(ClientError) in
          try client.groups(filter, limit: limit, offset: offset)
        }
      }
      let groups = options.ordered(found)
      if connection.json != .off { try connection.show(json: groups) }
      guard !groups.isEmpty else { throw self.filter.nothingFound(connection.client) }
      let text =
        connection.json == .off
        ? Listings.groups(groups, terminal: connection.terminal, legend: !legend.hasNoLegend) : ""
      try connection.show(text, rest: options.rest(hasMore, of: "groups"), legend: !legend.hasNoLegend)
    }
  }

  struct Resolve: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Says that a group is mended: when it comes back, it is called regressed.")

    @OptionGroup var connection: ConnectionOptions

    @Argument(help: "The first digits of the group's key.")
    var key: String

    func run() throws { try say(true, of: key, over: connection) }
  }

  struct Reopen: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Takes back that a group is mended.")

    @OptionGroup var connection: ConnectionOptions

    @Argument(help: "The first digits of the group's key.")
    var key: String

    func run() throws { try say(false, of: key, over: connection) }
  }
}

private func say(_ isResolved: Bool, of key: String, over connection: ConnectionOptions) throws {
  let whole = try connection.ask { client throws(ClientError) in try client.setResolved(isResolved, group: key) }
  if connection.json != .off { return try connection.show(json: ["key": whole]) }
  try Output.write("group \(whole) is \(isResolved ? "resolved" : "open")\n")
}
