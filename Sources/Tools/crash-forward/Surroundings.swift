import CrashReport
import Glibc

/// The program's environment and its log output.
extension CrashForward {
  /// A line on standard error for each, with the level as sd-daemon(3) wants it where the journal reads it.
  func log(_ settings: ForwardSettings, _ environment: [String: String]) -> SinkLog {
    let levels: [String: SinkLog.Level] = ["error": .error, "warning": .warning, "notice": .notice, "debug": .debug]
    let least = settings.logLevel.flatMap { levels[$0] } ?? .notice
    let isJournal = environment["JOURNAL_STREAM"] != nil
    return SinkLog { level, text in
      if level > least { return }
      // The library guarantees one line.
      Self.write(isJournal ? "<\(level.rawValue)>\(text)\n" : "crash-forward: \(text)\n")
    }
  }

  static func complain(_ text: String) { write("crash-forward: \(CleanText.clean(text))\n") }

  private static func write(_ line: String) {
    let bytes = Array(line.utf8)
    // One write a line, so that lines of several threads do not mix. write reads as many bytes as the array has.
    _ = unsafe Glibc.write(STDERR_FILENO, bytes, bytes.count)
  }
}
