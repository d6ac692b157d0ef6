import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol

/// The programs that a change is for: several of them only on purpose.
struct ScopeOptions: ParsableArguments {
  @Option(
    help: "Change programs whose name contains this, or with this path", completion: .custom(Completions.programs))
  var process: String?

  @Flag(help: "Change all programs that crashd knows")
  var allPrograms = false

  @Flag(help: "Only print which programs it would change")
  var dryRun = false

  func validate() throws {
    if allPrograms, process != nil { throw ValidationError("--process and --all-programs exclude each other") }
  }

  /// Whether the change may be made; false after a dry run.
  /// - Throws: `Failure` if it would change several programs, and nothing says that it should.
  func allows(_ connection: ConnectionOptions) throws -> Bool {
    if !dryRun, process != nil || allPrograms { return true }
    let names = try connection.policies(process).map(\.name)
    if dryRun {
      let list = names.sorted()
      if connection.json != .off {
        try connection.show(json: ["services": list])
      } else {
        try Output.write(list.map { "would change \($0)\n" }.joined())
      }
      return false
    }
    guard names.count > 1 else { return true }
    let some = names.sorted().prefix(5).joined(separator: ", ") + (names.count > 5 ? ", …" : "")
    throw Failure(
      .usage,
      "this would change \(names.count) programs (\(some)): name one with --process, or say --all-programs")
  }
}

extension Dangling {
  /// A class, and the programs in which a verb overrides its protection.
  struct ClassScope: ParsableArguments {
    @Argument(
      help: "Full name of the class, such as App.Session, or its mangled name",
      completion: .custom(Completions.classes))
    var className: String

    @OptionGroup var scope: ScopeOptions
  }

  struct Protect: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Protect a class in running and future processes, overriding the program",
      discussion: """
        A class that no attached process has is refused, for it is probably mistyped; --force sets it for processes that \
        load it later. crashctl dangling reset takes the override back.
        """)

    @OptionGroup var subject: ClassScope

    @Option(help: "Keep this many deallocated objects, 1 to 4096 (default: by statistics)")
    var limit: Int?

    @Option(
      help:
        "Set the policy: absorb (deinit later), zero (deinit at once, calls return zero), diagnose (deinit at once, poison)",
      completion: .custom { _, _, _ in Completions.policies })
    var policy: String?

    @Flag(help: "Also if no attached process has the class")
    var force = false

    @OptionGroup(title: "General options") var connection: ConnectionOptions

    func validate() throws {
      if let limit, !(1...4_096).contains(limit) {
        throw ValidationError("invalid value '\(limit)' for --limit: it takes 1 to 4096")
      }
      if let policy, !["absorb", "zero", "diagnose"].contains(policy) {
        throw ValidationError("invalid value '\(policy)' for --policy: it takes absorb, zero or diagnose")
      }
    }

    func run() throws {
      guard try subject.scope.allows(connection) else { return }
      let change = try connection.ask { client throws(ClientError) in
        try client.protect(
          class: subject.className, name: subject.scope.process, limit: limit, mode: policy, isForced: force)
      }
      if connection.json != .off { return try connection.show(json: change) }
      try connection.show(DanglingText.change("\(subject.className) is protected", change))
    }
  }

  struct Release: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Stop protecting a class, overriding the program, until you protect or reset it")

    @OptionGroup var subject: ClassScope

    @Flag(help: "Also if no attached process has the class")
    var force = false

    @OptionGroup(title: "General options") var connection: ConnectionOptions

    func run() throws {
      guard try subject.scope.allows(connection) else { return }
      let change = try connection.ask { client throws(ClientError) in
        try client.release(class: subject.className, name: subject.scope.process, isForced: force)
      }
      if connection.json != .off { return try connection.show(json: change) }
      try connection.show(DanglingText.change("\(subject.className) is no longer protected", change))
    }
  }

  struct Reset: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Remove the override of a class: the program and the statistics decide again")

    @OptionGroup var subject: ClassScope
    @OptionGroup(title: "General options") var connection: ConnectionOptions

    func run() throws {
      guard try subject.scope.allows(connection) else { return }
      let change = try connection.ask { client throws(ClientError) in
        try client.reset(class: subject.className, name: subject.scope.process)
      }
      if connection.json != .off { return try connection.show(json: change) }
      try connection.show(DanglingText.change("\(subject.className) is no longer overridden", change))
    }
  }
}
