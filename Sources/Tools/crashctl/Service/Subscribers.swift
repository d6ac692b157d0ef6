import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol

struct Subscribers: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "List named subscribers and their lag, or forget one",
    subcommands: [ListSubscribers.self, ForgetSubscriber.self], defaultSubcommand: ListSubscribers.self)

  struct ListSubscribers: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List named subscribers and their lag",
      discussion: """
        The settings of crash-forward name its subscribers. Collectors in crashd's settings are named "forward PATH". \
        BEHIND is the number of events since the last acknowledgement, including events that a filter excludes.
        """)

    @OptionGroup var legend: LegendOptions

    @OptionGroup(title: "General options") var connection: ConnectionOptions

    func run() throws {
      let subscribers = try connection.ask { client throws(ClientError) in try client.subscribers() }
      if connection.json != .off { try connection.show(json: subscribers) }
      guard !subscribers.isEmpty else {
        throw Failure.nothing("no named subscriber", of: connection.client)
      }
      guard connection.json == .off else { return }
      try connection.show(
        SubscriberText.list(subscribers, terminal: legend.terminal(connection), legend: !legend.hasNoLegend))
    }
  }

  struct ForgetSubscriber: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "forget",
      abstract: "Forget a subscriber, which starts with new crashes if it returns",
      discussion: """
        Use this for a subscriber that no longer exists, or a collector that was removed from crashd's settings: \
        crashctl subscribers forget 'forward /run/collector.sock'. A subscriber that returns does not receive the \
        crashes in between.
        """)

    @Option(help: ArgumentHelp("Forget this user's subscriber, if several users use the name", valueName: "user"))
    var uid: Int?

    @Argument(help: "Name of the subscriber")
    var name: String

    @OptionGroup(title: "General options") var connection: ConnectionOptions

    func run() throws {
      let all = try connection.ask { client throws(ClientError) in try client.subscribers() }
      let subscriber = try SubscriberText.only(name, uid: uid, of: all)
      try connection.ask { client throws(ClientError) in
        try client.unsubscribe(subscriber.name, uid: subscriber.uid)
      }
      if connection.json != .off { return try connection.show(json: subscriber) }
      try Output.write("forgot '\(subscriber.name)' of user \(subscriber.uid)\n")
    }
  }
}
