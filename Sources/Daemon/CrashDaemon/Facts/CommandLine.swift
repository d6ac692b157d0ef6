import CrashReport

/// The arguments of a process, from `/proc/PID/cmdline`.
enum CommandLine {
  /// What is read of it.
  static let readLimitBytes = 4_096
  /// What a report has of it.
  private static let limit = 1_024

  /// The arguments as one scrubbed line; nil for none.
  static func text(_ bytes: String, scrubbedBy scrubber: TextScrubber) -> String? {
    var arguments = bytes.utf8.split(separator: 0, omittingEmptySubsequences: false).map { String(Substring($0)) }
    // The last argument ends with a zero, too.
    if arguments.last == "" { arguments.removeLast() }
    let line = CleanText.line(scrubber.scrub(arguments: arguments))
    if line.isEmpty { return nil }
    return line.count > limit ? line.prefix(limit - 1) + "…" : line
  }
}
