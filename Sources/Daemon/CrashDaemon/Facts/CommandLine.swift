import CrashReport

/// The arguments of a process, from `/proc/PID/cmdline`.
enum CommandLine {
  /// What is read of it.
  static let readLimitBytes = 4_096
  /// What a report has of it.
  private static let limit = 1_024

  /// The arguments as one line: separated by blanks, those with a blank or a quote in quotes; nil for none.
  ///
  /// Values of options whose name is one of the secret keys are scrubbed, and then the whole line as any text.
  static func text(_ bytes: String, scrubbedBy scrubber: TextScrubber) -> String? {
    let arguments = bytes.utf8.split(separator: 0, omittingEmptySubsequences: false).map { String(Substring($0)) }
    var words: [String] = []
    var isSecret = false
    // The last argument ends with a zero, too.
    for argument in arguments.last == "" ? arguments.dropLast() : arguments[...] {
      let isOption = argument.hasPrefix("-")
      if isSecret, !isOption {
        words.append(TextScrubber.mark)
        isSecret = false
        continue
      }
      let name = argument.prefix { $0 != "=" }
      isSecret = isOption && name.count == argument.count && scrubber.isSecret(argument)
      let hidesValue = name.count < argument.count && scrubber.isSecret(String(name))
      words.append(hidesValue ? "\(name)=\(TextScrubber.mark)" : quoted(argument))
    }
    let line = CleanText.line(scrubber.scrub(words.joined(separator: " ")))
    if line.isEmpty { return nil }
    return line.count > limit ? line.prefix(limit - 1) + "…" : line
  }

  private static func quoted(_ argument: String) -> String {
    let isPlain = !argument.isEmpty && !argument.contains { " \t\n\"'\\".contains($0) }
    return isPlain ? argument : "'" + argument.replacing("'", with: #"'\''"#) + "'"
  }
}
