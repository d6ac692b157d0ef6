import CrashReport

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
