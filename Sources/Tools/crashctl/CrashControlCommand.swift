import ArgumentParser
import CBuildCommit
import CrashControl
import CrashReport
import Glibc
import ProductVersion

@main
struct CrashControlCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "crashctl",
    abstract: "Show why Swift programs on this machine crashed",
    discussion: """
      Root and members of the group crashd (access.group in crashd.yaml) see and change all crashes, other users those of \
      their own processes; crashctl status shows your access.

      Exit codes: 0 done, 1 nothing found, 2 wrong usage, 3 crashd cannot be reached.
      """,
    // The text lives as long as the program.
    version: ProductVersion.line(of: "crashctl", commit: unsafe String(cString: cs_build_commit())),
    subcommands: [
      List.self, Groups.self, Top.self, Show.self, Dump.self, Debug.self, Follow.self, Status.self, Processes.self,
      Wait.self, Subscribers.self,
      Explain.self, Reanalyze.self, Reanalyse.self, Remove.self, Prune.self, Export.self, Metrics.self, Incidents.self,
      Dangling.self,
      Guards.self, Doctor.self, Run.self, Demo.self, Varlink.self,
    ],
    defaultSubcommand: List.self)

  static func main() {
    do {
      var command = try parseAsRoot()
      try command.run()
    } catch let failure as Failure {
      if !failure.message.isEmpty { Output.complain(failure.message) }
      Glibc.exit(failure.status)
    } catch {
      finish(error)
    }
  }

  /// Prints ArgumentParser's help, version or completion script, or an error in the command line as one line.
  private static func finish(_ error: any Error) -> Never {
    let code = exitCode(for: error)
    guard code.isSuccess else {
      // ArgumentParser's suggestions follow on further lines.
      let text = message(for: error).prefix { $0 != "\n" }
      let sentence = text.hasSuffix(".") ? text.dropLast() : text
      let advice = CommandAdvice.text(
        for: sentence, arguments: Array(CommandLine.arguments.dropFirst()),
        verbs: configuration.subcommands.compactMap { $0._commandName })
      Output.complain(sentence.prefix(1).lowercased() + sentence.dropFirst() + "; " + advice)
      Glibc.exit(code == .validationFailure ? ExitStatus.usage.rawValue : code.rawValue)
    }
    do throws(Failure) {
      try Output.write(fullMessage(for: error) + "\n")
    } catch {
      Glibc.exit(error.status)
    }
    Glibc.exit(code.rawValue)
  }
}

/// Advice about an error in the command line.
enum CommandAdvice {
  /// Returns the advice for an error.
  ///
  /// - Parameters:
  ///   - sentence: ArgumentParser's message. For an unknown verb it reports an unexpected argument of `list`, the
  ///     default verb.
  ///   - arguments: The command line without the program's name.
  ///   - verbs: The known verbs.
  /// - Returns: The end of the message.
  static func text(for sentence: some StringProtocol, arguments: [String], verbs: [String]) -> String {
    let usual = "see crashctl --help"
    guard sentence.lowercased().contains("unexpected argument"),
      let argument = arguments.first(where: { sentence.contains("'\($0)'") })
    else { return usual }
    // ArgumentParser takes options before a verb for options of `list`.
    if verbs.contains(argument) { return "options follow the verb: crashctl \(argument) OPTIONS" }
    // An argument after a verb is no verb.
    guard argument == arguments.first, let verb = Spelling.nearest(to: argument, among: verbs) else { return usual }
    return "did you mean '\(verb)'? \(usual)"
  }
}
