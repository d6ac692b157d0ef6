import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol
import CrashReport

struct Guards: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "What guards do about faults in running programs: their modes, by kind.",
    subcommands: [ListGuards.self, SetGuards.self], defaultSubcommand: ListGuards.self)
}

struct ListGuards: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "Lists the modes that were set here; of other kinds each program decides.")

  @OptionGroup var connection: ConnectionOptions
  @OptionGroup var legend: LegendOptions

  @Option(help: "Only those of programs whose name contains this, or with this path.")
  var process: String?

  func run() throws {
    let all = try connection.ask { client throws(ClientError) in try client.guardModes(name: process) }
    if connection.json != .off { try connection.show(json: all) }
    let spokenOf = all.filter { !$0.modes.isEmpty || !$0.implicitModes.isEmpty }
    guard !spokenOf.isEmpty else {
      throw Failure.nothing("no mode was set here: guards do what their programs say", of: connection.client)
    }
    guard connection.json == .off else { return }
    try connection.show(GuardText.list(spokenOf, terminal: connection.terminal, legend: !legend.hasNoLegend))
  }
}

struct SetGuards: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "set",
    abstract: "Sets what guards do about a fault in running and coming processes, stronger than what they say.",
    discussion: """
      MODE is absorb (a record, then the documented value), observe (a record, then what would have happened without the \
      guard: most often the process ends), off (as without the guard), or program (what the program itself says). It holds \
      in the programs that crashd knows by now, and their processes to come. An incident tells the mode of the first fault \
      at its place.

      KIND is all, or one of: \(GuardText.kinds).
      """)

  @OptionGroup var connection: ConnectionOptions

  @Argument(help: "What kind of fault, as crashctl incidents names it, or all.")
  var kind: String

  @Argument(help: "absorb, observe, off or program.")
  var mode: String

  @Option(help: "Only in programs whose name contains this, or with this path.")
  var process: String?

  @Flag(
    help: """
      Of protections without a call (CrashShieldImplicit, CrashShieldCasts, CrashShieldExecutorChecks), not of guards at call \
      sites.
      """)
  var implicit = false

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
    let change = try connection.ask { client throws(ClientError) in
      try client.setGuards(mode: mode, kind: kind, name: process, isImplicit: implicit)
    }
    if connection.json != .off { return try connection.show(json: change) }
    let guards = "\(implicit ? "implicit guards" : "guards") of \(kind ?? "all kinds")"
    let what = mode == .program ? "\(guards): as the program says" : "\(guards): \(mode)"
    let rest = change.obeying < change.processes ? "crashctl guards list says why others have not\n" : ""
    try connection.show(DanglingText.change(what, change) + rest)
  }
}
