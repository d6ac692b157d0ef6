import ArgumentParser
import CrashControl
import CrashReport
import Glibc

@main
struct CrashControlCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "crashctl",
    abstract: "Shows why Swift programs on this machine crashed.",
    discussion: """
      Root and members of the group crashd (access.group in crashd.yaml) see and change everybody's crashes, others those \
      of their own processes; crashctl status says which.

      Exit codes: 0 done, 1 nothing found, 2 wrong usage, 3 crashd cannot be reached.
      """,
    version: "0.1.0",
    subcommands: [
      List.self, Groups.self, Top.self, Show.self, Dump.self, Debug.self, Follow.self, Status.self, Processes.self,
      Wait.self, Subscribers.self,
      Explain.self, Reanalyse.self, Remove.self, Prune.self, Export.self, Metrics.self, Incidents.self, Dangling.self,
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

  /// Help, versions and completion scripts are ArgumentParser's texts; an error in the command line is one sentence.
  private static func finish(_ error: any Error) -> Never {
    let code = exitCode(for: error)
    guard code.isSuccess else {
      // What else may have been meant follows on further lines.
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

/// What to do about an error in the command line.
enum CommandAdvice {
  /// Says it.
  /// - Parameters:
  ///   - sentence: ArgumentParser's: of what it does not know, and whose first word is none of its verbs, it says that
  ///     it is an argument too many, namely of the verb that is meant without one.
  ///   - arguments: Of the command line, without the program's name.
  ///   - verbs: Those that there are.
  /// - Returns: The end of the sentence about it.
  static func text(for sentence: some StringProtocol, arguments: [String], verbs: [String]) -> String {
    let usual = "see crashctl --help"
    guard sentence.lowercased().contains("unexpected argument"),
      let argument = arguments.first(where: { sentence.contains("'\($0)'") })
    else { return usual }
    // Options before a verb are taken for those of `list`.
    if verbs.contains(argument) { return "options follow the verb: crashctl \(argument) OPTIONS" }
    // Behind a verb it is no verb.
    guard argument == arguments.first, let verb = Spelling.nearest(to: argument, among: verbs) else { return usual }
    return "'\(verb)' is meant, perhaps; \(usual)"
  }
}
