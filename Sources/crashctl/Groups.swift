import ArgumentParser
import CrashClient
import CrashControl

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
      commandName: "list", abstract: "Lists groups, the one that was seen last at the end.")

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var legend: LegendOptions
    @OptionGroup var period: PeriodOptions

    @Option(
      name: [.customShort("n", allowingJoined: true), .customLong("limit")],
      help: "At most so many, those that were seen last; 100 without it.")
    var limit: Int?

    @Flag(name: .shortAndLong, help: "The one that was seen last first.")
    var reverse = false

    @Option(help: "Only crashes of programs whose name contains this.")
    var name: String?

    func validate() throws {
      if let limit, limit < 1 { throw ValidationError("-n takes a number from 1, not \(limit)") }
    }

    func run() throws {
      let query = ListQuery(limit: limit, name: name, since: period.sinceText, until: period.untilText)
      var groups = try connection.ask { client throws(ClientError) in try client.groups(query) }
      if !reverse { groups.reverse() }
      if connection.json != .off { try connection.show(json: groups) }
      guard !groups.isEmpty else {
        let isRestricted = name != nil || period.isRestricting
        let sentence = isRestricted ? "no crash was reported that matches" : "no crash was reported yet"
        throw Failure(.nothingFound, sentence + Failure.hiddenNote)
      }
      guard connection.json == .off else { return }
      try connection.show(Listings.groups(groups, terminal: connection.terminal, legend: !legend.hasNoLegend))
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
