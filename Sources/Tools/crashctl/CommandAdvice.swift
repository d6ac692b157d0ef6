import ArgumentParser
import CrashControl
import CrashReport

/// Checks a command line before ArgumentParser parses it, and adds advice to error messages.
enum CommandAdvice {
  /// The verbs that remove data.
  ///
  /// These verbs are never suggested for a mistyped word.
  private static let destructive: Set<String> = ["rm", "prune"]
  /// Names that other tools use for verbs of crashctl.
  private static let synonyms = [
    "ps": "processes", "ls": "list", "info": "show", "logs": "follow", "tail": "follow", "version": "--version",
    "issues": "groups", "check": "doctor", "gdb": "debug", "lldb": "debug", "inspect": "show", "stats": "status",
  ]

  /// The names of all verbs of crashctl.
  static var verbs: [String] {
    CrashControlCommand.configuration.subcommands.compactMap { $0._commandName } + ["help"]
  }

  /// Returns the error message if the first word is not a verb; otherwise returns nil.
  ///
  /// Without this function, ArgumentParser would parse the word as an argument of `list`, the default verb.
  static func unknownVerb(in arguments: [String]) -> String? {
    guard let first = arguments.first, !first.hasPrefix("-"), !verbs.contains(first) else { return nil }
    return "unknown command '\(first)'; " + suggestion(for: first, among: verbs)
  }

  /// Returns whether the argument is a verb that follows options.
  ///
  /// A verb after options is an error, because options must follow the verb.
  static func isMisplacedVerb(_ word: String) -> Bool {
    CommandLine.arguments.dropFirst().first?.hasPrefix("-") == true && verbs.contains(word)
  }

  /// Returns whether the verb passes arguments to a program, whose options are not those of crashctl.
  static func startsProgram(_ arguments: [String]) -> Bool { ["run", "serve"].contains(arguments.first) }

  /// Rewrites `--json` without a value to `--json=pretty`.
  static func prepared(_ arguments: [String]) -> [String] {
    guard !startsProgram(arguments) else { return arguments }
    return arguments.enumerated().map { index, word in
      guard word == "--json", !arguments[..<index].contains("--") else { return word }
      let next = arguments.indices.contains(index + 1) ? arguments[index + 1] : ""
      return JSONStyle(rawValue: next) == nil ? "--json=pretty" : word
    }
  }

  /// Returns the advice for an error of ArgumentParser.
  ///
  /// - Parameters:
  ///   - sentence: The error message of ArgumentParser.
  ///   - arguments: The command line without the program's name.
  /// - Returns: The advice, which is appended to the error message.
  static func text(for sentence: some StringProtocol, arguments: [String]) -> String {
    let known = arguments.first.flatMap { verbs.contains($0) && $0 != "help" ? " \($0)" : nil } ?? ""
    let usual = "see crashctl\(known) --help"
    guard sentence.lowercased().contains("unexpected argument"),
      let argument = arguments.first(where: { sentence.contains("'\($0)'") })
    else { return usual }
    // If an option precedes the verb, explain the right order. ArgumentParser parses such an option as an option of
    // `list`, the default verb.
    if verbs.contains(argument), arguments.first?.hasPrefix("-") == true {
      return "options follow the verb: crashctl \(argument) OPTIONS"
    }
    guard let verb = arguments.first, verb != argument, verbs.contains(verb) else { return usual }
    if verb == "serve" { return "the program follows --: crashctl serve --listen PORT -- PROGRAM ARGS…" }
    let own = CrashControlCommand.configuration.subcommands.first { $0._commandName == verb }
    let names = own?.configuration.subcommands.compactMap { $0._commandName } ?? []
    return names.isEmpty ? "see crashctl \(verb) --help" : suggestion(for: argument, among: names, of: " \(verb)")
  }

  /// Returns the error message if the value of an option is missing because it is a negative number.
  ///
  /// ArgumentParser parses such a value as an option.
  static func negativeValue(_ sentence: some StringProtocol, arguments: [String]) -> String? {
    guard sentence.lowercased().hasPrefix("missing value for '"), let quote = sentence.firstIndex(of: "'") else {
      return nil
    }
    let option = sentence[sentence.index(after: quote)...].prefix { $0 != "'" && $0 != " " }
    guard let index = arguments.firstIndex(of: String(option)), arguments.indices.contains(index + 1) else {
      return nil
    }
    let value = arguments[index + 1]
    guard value.hasPrefix("-"), value.dropFirst().first?.isNumber == true else { return nil }
    return "invalid value '\(value)' for \(option): it takes no negative number"
  }

  private static func suggestion(for word: String, among names: [String], of verb: String = "") -> String {
    let usual = "see crashctl\(verb) --help"
    let harmless = names.filter { !destructive.contains($0) }
    let known = verb.isEmpty ? synonyms[word] : nil
    guard let name = known ?? Spelling.nearest(to: word, among: harmless) else { return usual }
    return "did you mean '\(name)'? \(usual)"
  }

  /// Returns the help of a verb that has subcommands, with the options of its default subcommand.
  static func help(for arguments: [String], columns: Int?) -> String? {
    guard arguments.count == 2, ["-h", "--help"].contains(arguments[1]),
      let verb = CrashControlCommand.configuration.subcommands.first(where: { $0._commandName == arguments[0] }),
      let standard = verb.configuration.defaultSubcommand
    else { return nil }
    let whole = CrashControlCommand.helpMessage(for: verb, columns: columns)
    let options = CrashControlCommand.helpMessage(for: standard, columns: columns)
    // In the help text, an empty line precedes each section. The first section follows the usage.
    guard let usage = options.firstRange(of: "\nUSAGE:")?.upperBound,
      let start = options[usage...].firstRange(of: "\n\n")?.lowerBound,
      let own = whole.firstRange(of: "\nOPTIONS:")?.lowerBound,
      let verbs = whole.firstRange(of: "\nSUBCOMMANDS:")?.lowerBound, own < verbs
    else { return whole }
    let title = "\nOPTIONS of '\(arguments[0]) \(standard._commandName)', which is the default:"
    let rest = options[start...]
    let end = whole.hasSuffix("\n") ? "" : "\n"
    return String(whole[..<own]) + String(whole[verbs...]) + end + title + String(rest)
  }
}
