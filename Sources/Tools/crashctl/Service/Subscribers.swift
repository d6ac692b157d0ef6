import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol

struct Subscribers: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Who follows crashes under a name, how far behind they are; forgets those that come no more.",
    subcommands: [ListSubscribers.self, ForgetSubscriber.self], defaultSubcommand: ListSubscribers.self)

  struct ListSubscribers: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "Lists named subscribers, and how many events each has not acknowledged.",
      discussion: """
        crash-forward's are called as its configuration says, collectors of crashd's settings "forward PATH". BEHIND \
        counts events that were stored since its last acknowledgement, also those that a filter leaves out.
        """)

    @OptionGroup var connection: ConnectionOptions
    @OptionGroup var legend: LegendOptions

    func run() throws {
      let subscribers = try connection.ask { client throws(ClientError) in try client.subscribers() }
      if connection.json != .off { try connection.show(json: subscribers) }
      guard !subscribers.isEmpty else {
        throw Failure.nothing("there are no named subscribers", of: connection.client)
      }
      guard connection.json == .off else { return }
      try connection.show(
        SubscriberText.list(subscribers, terminal: connection.terminal, legend: !legend.hasNoLegend))
    }
  }

  struct ForgetSubscriber: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "forget",
      abstract: "Forgets a subscriber: when it comes again, it begins with what is new then.",
      discussion: """
        For one that does not come again, and a collector that was taken out of crashd's settings: \
        crashctl subscribers forget 'forward /run/collector.sock'. One that comes loses the crashes between.
        """)

    @OptionGroup var connection: ConnectionOptions

    @Option(help: ArgumentHelp("Whose, where several users have one of this name.", valueName: "user"))
    var uid: Int?

    @Argument(help: "Its name, as the list has it.")
    var name: String

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
