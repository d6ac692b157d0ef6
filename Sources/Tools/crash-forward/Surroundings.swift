import CrashReport
import Glibc

/// Creates the log of the program.
extension CrashForward {
  /// Returns a log that writes lines to standard error.
  ///
  /// If the journal receives the lines, each line has a level prefix as in sd-daemon(3).
  func log(_ settings: ForwardSettings, _ environment: [String: String]) -> SinkLog {
    let levels: [String: SinkLog.Level] = ["error": .error, "warning": .warning, "notice": .notice, "debug": .debug]
    let least = settings.logLevel.flatMap { levels[$0] } ?? .notice
    let isJournal = environment["JOURNAL_STREAM"] != nil
    return SinkLog { level, text in
      if level > least { return }
      // The text is one line, as SinkLog guarantees.
      Self.write(isJournal ? "<\(level.rawValue)>\(text)\n" : "crash-forward: \(text)\n")
    }
  }

  static func complain(_ text: String) { write("crash-forward: \(CleanText.clean(text))\n") }

  private static func write(_ line: String) {
    let bytes = Array(line.utf8)
    // Write a line with one call, so that lines of several threads do not mix. Invariant: write reads as many bytes as
    // the array has.
    _ = unsafe Glibc.write(STDERR_FILENO, bytes, bytes.count)
  }
}
