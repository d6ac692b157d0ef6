import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol

struct Groups: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "List and resolve groups of equal crashes",
    discussion: """
      States: new (first seen in the newest build of its program), open, resolved (marked as fixed), regressed (crashed \
      again after that).
      """,
    subcommands: [ListGroups.self, Resolve.self, Reopen.self], defaultSubcommand: ListGroups.self)

  struct ListGroups: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List groups (last seen last, 100 by default)",
      discussion: """
        A group also counts crashes whose reports were removed, except with --pid, --unit or --signal: of a removed report \
        crashd keeps only the program and the hour.
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
      abstract: "Mark a group as resolved; a new crash marks it as regressed")

    @OptionGroup var connection: ConnectionOptions

    @Argument(help: "First digits of the group's key")
    var key: String

    func run() throws { try say(true, of: key, over: connection) }
  }

  struct Reopen: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Reopen a resolved group")

    @OptionGroup var connection: ConnectionOptions

    @Argument(help: "First digits of the group's key")
    var key: String

    func run() throws { try say(false, of: key, over: connection) }
  }
}

private func say(_ isResolved: Bool, of key: String, over connection: ConnectionOptions) throws {
  let whole = try connection.ask { client throws(ClientError) in try client.setResolved(isResolved, group: key) }
  if connection.json != .off { return try connection.show(json: ["key": whole]) }
  try Output.write("group \(whole) is \(isResolved ? "resolved" : "open")\n")
}
