import ArgumentParser
import CrashReport
import FleetStore

/// Lists and changes issues.
struct Issues: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "List, resolve, mute, merge and split issues",
    subcommands: [List.self, Open.self, Resolve.self, Mute.self, Merge.self, Split.self], defaultSubcommand: List.self)

  /// The options of all subcommands.
  struct Options: ParsableArguments {
    @OptionGroup var settings: SettingsOptions

    @Option(help: "The tenant")
    var tenant: String

    func withTenant<Value>(_ body: (FleetStore, Int32) async throws -> Value) async throws -> Value {
      try await settings.withStore { store in
        guard let number = try await store.tenant(named: tenant) else {
          throw Failure("there is no tenant '\(tenant)'; see 'crash-fleet token list'")
        }
        return try await body(store, number)
      }
    }

    func change(_ issue: Int64, _ change: FleetStore.IssueChange) async throws {
      guard try await withTenant({ try await $0.change(issue: issue, tenant: $1, change) }) else {
        throw Failure("the tenant has no issue \(issue)")
      }
    }
  }

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "List the most recently seen issues")

    @OptionGroup var options: Options

    func run() async throws {
      for issue in try await options.withTenant({ try await $0.issues(tenant: $1) }) {
        let counts = "\(issue.crashes) crashes  \(issue.hosts) hosts"
        print(CleanText.line("\(issue.id)  \(issue.state)  \(counts)  \(issue.program)  \(issue.title)"))
      }
    }
  }

  struct Open: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Mark an issue as known")
    @OptionGroup var options: Options
    @Argument(help: "The number of the issue") var issue: Int64
    func run() async throws { try await options.change(issue, .open) }
  }

  struct Resolve: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Mark an issue as resolved in the newest build; a crash of a later build marks it as regressed")
    @OptionGroup var options: Options
    @Argument(help: "The number of the issue") var issue: Int64
    func run() async throws { try await options.change(issue, .resolve) }
  }

  struct Mute: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Mute an issue: count its crashes, and never mark it as regressed")
    @OptionGroup var options: Options
    @Argument(help: "The number of the issue") var issue: Int64
    func run() async throws { try await options.change(issue, .mute) }
  }

  struct Merge: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Move all groups of one issue to another")
    @OptionGroup var options: Options
    @Argument(help: "The number of the issue to move") var issue: Int64
    @Argument(help: "The number of the issue that receives the groups") var other: Int64

    func run() async throws {
      guard try await options.withTenant({ try await $0.merge(issue: issue, into: other, tenant: $1) }) else {
        throw Failure("cannot merge: both issues must belong to the tenant and to one program")
      }
    }
  }

  struct Split: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Move one group to a new issue, and print the number of this issue")
    @OptionGroup var options: Options
    @Argument(help: "The number of the issue") var issue: Int64
    @Argument(help: "The key of the group") var key: String

    func run() async throws {
      guard let number = try await options.withTenant({ try await $0.split(key: key, from: issue, tenant: $1) }) else {
        throw Failure("cannot split: the issue needs this group and another one")
      }
      print(number)
    }
  }
}
