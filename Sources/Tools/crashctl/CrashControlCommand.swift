import ArgumentParser
import CBuildCommit
import CrashControl
import CrashProtocol
import CrashReport
import Glibc
import LinuxSystem

@main
struct CrashControlCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "crashctl",
    abstract: "Show why Swift programs on this machine crashed",
    discussion: """
      Root and members of the group crashd (access.group in crashd.yaml) can read and change all crashes. Other users \
      can access only crashes of their own processes. crashctl status shows your access.

      Exit codes: 0 done, 1 nothing found, 2 wrong usage, 3 crashd cannot be reached.

      Examples:
        crashctl                                # the newest crashes
        crashctl show shop                      # why did shop crash?
        crashctl groups --sort count            # what crashes most?
        crashctl doctor 4711                    # is this process covered?
        crashctl demo                           # see it work
      """,
    // Invariant: the C string has static storage duration.
    version: ProductVersion.line(of: "crashctl", commit: unsafe String(cString: cs_build_commit())),
    subcommands: [Reanalyse.self],
    groupedSubcommands: [
      CommandGroup(
        name: "Show crashes",
        subcommands: [
          List.self, Show.self, Groups.self, Top.self, Web.self, Follow.self, Explain.self, Debug.self, Decode.self,
        ]),
      CommandGroup(
        name: "Export and remove reports",
        subcommands: [
          Dump.self, Export.self, Report.self, Import.self, Reanalyze.self, Remove.self, Prune.self,
        ]),
      CommandGroup(
        name: "Non-fatal incidents", subcommands: [Incidents.self, Dangling.self, Guards.self]),
      CommandGroup(
        name: "The service",
        subcommands: [
          Status.self, Health.self, Doctor.self, Processes.self, Subscribers.self, Metrics.self,
        ]),
      CommandGroup(
        name: "Try, script, program",
        subcommands: [Run.self, Serve.self, Demo.self, Wait.self, Completion.self, Varlink.self]),
    ],
    defaultSubcommand: List.self)

  static func main() {
    let arguments = Array(CommandLine.arguments.dropFirst())
    if let complaint = CommandAdvice.unknownVerb(in: arguments) {
      Output.complain(complaint)
      Glibc.exit(ExitStatus.usage.rawValue)
    }
    let columns = Terminal(descriptor: STDOUT_FILENO, environment: processEnvironment()).width
    if let help = CommandAdvice.help(for: arguments, columns: columns) { finish(printing: help + "\n") }
    do {
      var command = try parseAsRoot(CommandAdvice.prepared(arguments))
      try command.run()
    } catch let failure as Failure {
      if !failure.message.isEmpty { Output.complain(failure.message) }
      let isExcused = failure.status == ExitStatus.nothingFound.rawValue && arguments.contains("--exit-zero")
      Glibc.exit(isExcused && !CommandAdvice.startsProgram(arguments) ? ExitStatus.done.rawValue : failure.status)
    } catch {
      finish(error)
    }
  }

  /// Prints what ArgumentParser returned: help, a version, a completion script, or a usage error as one line.
  private static func finish(_ error: any Error) -> Never {
    let code = exitCode(for: error)
    guard code.isSuccess else {
      // Print only the first line: further lines contain ArgumentParser's own suggestions.
      let text = message(for: error).prefix { $0 != "\n" }
      let arguments = Array(CommandLine.arguments.dropFirst())
      let sentence =
        CommandAdvice.negativeValue(text, arguments: arguments) ?? String(text.hasSuffix(".") ? text.dropLast() : text)
      let advice = CommandAdvice.text(for: sentence, arguments: arguments)
      let separator = sentence.hasSuffix("?") ? " " : "; "
      Output.complain(sentence.prefix(1).lowercased() + sentence.dropFirst() + separator + advice)
      Glibc.exit(code == .validationFailure ? ExitStatus.usage.rawValue : code.rawValue)
    }
    finish(printing: fullMessage(for: error) + "\n", code: code.rawValue)
  }

  private static func finish(printing text: String, code: Int32 = 0) -> Never {
    do throws(Failure) {
      try Output.write(text)
    } catch {
      Glibc.exit(error.status)
    }
    Glibc.exit(code)
  }
}
