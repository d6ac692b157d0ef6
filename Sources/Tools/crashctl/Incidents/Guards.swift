import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol
import CrashReport

struct Guards: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show or override guard modes of running programs",
    subcommands: [ListGuards.self, SetGuards.self], defaultSubcommand: ListGuards.self)
}

struct ListGuards: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List the overridden guard modes")

  @OptionGroup var legend: LegendOptions

  @Option(
    help: "Only overrides of programs whose name contains this text, or of the program at this path",
    completion: .custom(Completions.programs))
  var process: String?

  @OptionGroup(title: "General options") var connection: ConnectionOptions

  func run() throws {
    let all = try connection.ask { client throws(ClientError) in try client.guardModes(name: process) }
    if connection.json != .off { try connection.show(json: all) }
    let spokenOf = all.filter { !$0.modes.isEmpty || !$0.implicitModes.isEmpty }
    guard !spokenOf.isEmpty else {
      throw Failure.nothing("no override is set: the programs' own modes are in force", of: connection.client)
    }
    guard connection.json == .off else { return }
    try connection.show(GuardText.list(spokenOf, terminal: legend.terminal(connection), legend: !legend.hasNoLegend))
  }
}

struct SetGuards: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set",
    abstract: "Override the guard mode of running and future processes",
    discussion: """
      MODE is absorb (record, then return the documented value), observe (record, then behave as without the guard, \
      which usually ends the process), off (behave as without the guard), or program (remove the override). The \
      override applies to current and future processes of known programs. --process selects some programs by name; \
      --all-programs selects all of them. An incident shows the mode of the first fault at its call site.

      KIND is all, or one of: \(GuardText.kinds).
      """)

  @Argument(
    help: "Kind of fault, as crashctl incidents lists it, or all", completion: .custom { _, _, _ in Completions.kinds })
  var kind: String

  @Argument(help: "Mode: absorb, observe, off or program", completion: .custom { _, _, _ in Completions.modes })
  var mode: String

  @OptionGroup var scope: ScopeOptions

  @Flag(
    help: """
      Set the mode of implicit protections (CrashShieldImplicit, CrashShieldCasts, CrashShieldExecutorChecks), not of \
      guards at call sites
      """)
  var implicit = false

  @OptionGroup(title: "General options") var connection: ConnectionOptions

  func validate() throws {
    do {
      _ = try GuardText.kind(kind)
      _ = try GuardText.mode(mode)
    } catch {
      throw ValidationError(error.message)
    }
  }

  func run() throws {
    let (kind, mode) = (try GuardText.kind(kind), try GuardText.mode(mode))
    guard try scope.allows(connection) else { return }
    let change = try connection.ask { client throws(ClientError) in
      try client.setGuards(mode: mode, kind: kind, name: scope.process, isImplicit: implicit)
    }
    if connection.json != .off { return try connection.show(json: change) }
    let guards = "\(implicit ? "implicit guards" : "guards") of \(kind ?? "all kinds")"
    let what = mode == .program ? "\(guards): the program's mode" : "\(guards): \(mode)"
    let rest = change.applied < change.processes ? "crashctl guards list shows why the others have not\n" : ""
    try connection.show(DanglingText.change(what, change) + rest)
  }
}
