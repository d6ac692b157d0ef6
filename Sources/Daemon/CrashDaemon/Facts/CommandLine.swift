import CrashReport

/// The arguments of a process, from `/proc/PID/cmdline`.
enum CommandLine {
  /// The bytes that are read of a command line.
  static let readLimitBytes = 4_096
  /// The characters of a command line in a report.
  private static let limit = 1_024

  /// The arguments as one scrubbed line; nil if there are none.
  static func text(_ bytes: String, scrubbedBy scrubber: TextScrubber) -> String? {
    var arguments = bytes.utf8.split(separator: 0, omittingEmptySubsequences: false).map { String(Substring($0)) }
    // The last argument also ends with a zero byte.
    if arguments.last == "" { arguments.removeLast() }
    let line = CleanText.line(scrubber.scrub(arguments: arguments))
    if line.isEmpty { return nil }
    return line.count > limit ? line.prefix(limit - 1) + "…" : line
  }
}
