import ArgumentParser
import CrashReport
import FleetStore

/// Manages asks: requests to the hosts of a tenant for a report, or for the protection of a class.
struct AskHosts: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "ask", abstract: "Ask the hosts of a tenant for a report, or for the protection of a class",
    discussion: """
      A host receives an ask with the response to its next batch of crashes, and answers each ask once. A host \
      protects a class only if its own setting fleet.allow-protection is true.
      """,
    subcommands: [List.self, Report.self, Protect.self, Withdraw.self], defaultSubcommand: List.self)

  /// The options of the commands that add an ask.
  struct Expiry: ParsableArguments {
    @Option(help: "End the ask after this many days, 1 to 90")
    var days: Int32 = 7

    func validate() throws {
      if !(1...90).contains(days) { throw ValidationError("invalid value '\(days)' for --days: it takes 1 to 90") }
    }
  }

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "List asks, and the number of hosts by their answer")

    @OptionGroup var options: Issues.Options

    func run() async throws {
      for state in try await options.withTenant({ try await $0.asks(tenant: $1) }) {
        let answers = state.answers.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
        let hosts = answers.isEmpty ? "no answers" : answers.joined(separator: ", ")
        let subject =
          switch state.ask.subject {
          case .report(let issue, _): "report of issue \(issue)"
          case .protection(let className): "protection of \(className)"
          }
        print(
          CleanText.line(
            "\(state.ask.id)  \(state.state)  \(hosts)  until \(state.expires) UTC  \(state.ask.program)  \(subject)"))
      }
    }
  }

  struct Report: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Ask each host for its next whole report of an issue, and print the number of the ask")

    @OptionGroup var options: Issues.Options
    @OptionGroup var expiry: Expiry
    @Argument(help: "The number of the issue") var issue: Int64

    func run() async throws {
      let number = try await options.withTenant {
        try await $0.askForReport(issue: issue, tenant: $1, days: expiry.days)
      }
      guard let number else { throw Failure("the tenant has no issue \(issue)") }
      print(number)
    }
  }

  struct Protect: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Ask each host to protect a class against use-after-free, and print the number of the ask",
      discussion: """
        A host that protects the class does so until its operator runs crashctl dangling reset, also after the ask has \
        expired or is withdrawn.
        """)

    @OptionGroup var options: Issues.Options
    @OptionGroup var expiry: Expiry
    @Argument(help: "The name of the program") var program: String
    @Argument(help: "The full name of the class, such as App.Session") var className: String

    func validate() throws {
      guard Self.isName(program, 256), Self.isName(className, 512), !className.contains(" ") else {
        throw ValidationError("give the names of a program and a class, such as shop App.Session")
      }
    }

    func run() async throws {
      let number = try await options.withTenant {
        try await $0.askForProtection(program: program, className: className, tenant: $1, days: expiry.days)
      }
      print(number)
    }

    private static func isName(_ text: String, _ limitBytes: Int) -> Bool {
      (1...limitBytes).contains(text.utf8.count) && text == CleanText.line(text)
    }
  }

  struct Withdraw: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Withdraw an ask")

    @OptionGroup var options: Issues.Options
    @Argument(help: "The number of the ask, as 'ask list' shows it") var ask: Int64

    func run() async throws {
      guard try await options.withTenant({ try await $0.withdraw(ask: ask, tenant: $1) }) else {
        throw Failure("the tenant has no open ask \(ask); see 'crash-fleet ask list'")
      }
    }
  }
}
