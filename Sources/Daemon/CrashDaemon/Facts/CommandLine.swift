import CrashReport

/// Reads the arguments of a process from `/proc/PID/cmdline`.
enum CommandLine {
  /// The maximum number of bytes that crashd reads from a command line.
  static let readLimitBytes = 4_096
  /// The maximum number of characters of a command line in a report.
  private static let limit = 1_024

  /// Returns the arguments as one line, in which the scrubber has replaced secrets; nil if there are no arguments.
  static func text(_ bytes: String, scrubbedBy scrubber: TextScrubber) -> String? {
    var arguments = bytes.utf8.split(separator: 0, omittingEmptySubsequences: false).map { String(Substring($0)) }
    // Remove the empty string after the last zero byte. In the file, a zero byte follows each argument, including the
    // last one.
    if arguments.last == "" { arguments.removeLast() }
    let line = CleanText.line(scrubber.scrub(arguments: arguments))
    if line.isEmpty { return nil }
    return line.count > limit ? line.prefix(limit - 1) + "…" : line
  }
}
