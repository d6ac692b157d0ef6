import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol

/// Selects the programs that a change applies to.
///
/// A change of several programs requires an explicit option.
struct ScopeOptions: ParsableArguments {
  @Option(
    help: "Apply the change to programs whose name contains this, or to the program at this path",
    completion: .custom(Completions.programs))
  var process: String?

  @Flag(help: "Apply the change to all known programs (those that attached to crashd)")
  var allPrograms = false

  @Flag(help: "Only print the programs to which the change would apply")
  var dryRun = false

  func validate() throws {
    if allPrograms, process != nil { throw ValidationError("--process and --all-programs exclude each other") }
  }

  /// Checks the scope of a change.
  ///
  /// Returns false for a dry run. In this case, the caller must not make the change.
  /// - Throws: `Failure` if the change would apply to several programs and no option allows this.
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
      "this would change \(names.count) programs (\(some)): select one with --process, or give --all-programs")
  }
}

extension Dangling {
  /// A class, and the programs in which a command overrides the class's protection.
  struct ClassScope: ParsableArguments {
    @Argument(
      help: "Full name of the class, such as App.Session, or its mangled name",
      completion: .custom(Completions.classes))
    var className: String

    @OptionGroup var scope: ScopeOptions
  }

  struct Protect: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Protect a class in running and future processes, whatever the program itself has set",
      discussion: """
        Without --force the class must be loaded in an attached process, because any other name is probably mistyped. \
        With --force the override also applies to processes that load the class later. To remove the override, use \
        crashctl dangling reset.
        """)

    @OptionGroup var subject: ClassScope

    @Option(help: "Keep this many deallocated objects, 1 to 4096 (default: chosen by crashd)")
    var limit: Int?

    @Option(
      help:
        "Set the policy: absorb (delay deinit), zero (deinit, then calls return zero), diagnose (deinit, then poison)",
      completion: .custom { _, _, _ in Completions.policies })
    var policy: String?

    @Flag(help: "Protect the class even if no attached process has loaded it")
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
      abstract: "Stop protecting a class until you protect or reset it, whatever the program itself has set")

    @OptionGroup var subject: ClassScope

    @Flag(help: "Stop the protection even if no attached process has loaded the class")
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
      abstract: "Remove the override of a class: the program and crashd's statistics decide again")

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
