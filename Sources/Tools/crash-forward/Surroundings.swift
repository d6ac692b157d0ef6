import CrashReport
import CrashSinks
import Glibc

/// What the program gets from its surroundings, and where it writes.
extension CrashForward {
  /// The one that is named, else the service's; nil: there is none.
  func settingsFile(_ environment: [String: String]) -> String? {
    if let path = config ?? environment["CRASH_FORWARD_CONFIG"], !path.isEmpty { return path }
    // systemd lists several with colons; the first is ours.
    let directory = environment["CONFIGURATION_DIRECTORY"]?.split(separator: ":").first ?? "/etc/crashd"
    let path = "\(directory)/crash-forward.yaml"
    // What is there and cannot be read is an error when it is read. The path is read during the call only.
    return unsafe access(path, F_OK) != 0 && errno == ENOENT ? nil : path
  }

  /// A line on standard error for each, with the level as sd-daemon(3) wants it where the journal reads it.
  func log(_ settings: ForwardSettings, _ environment: [String: String]) -> SinkLog {
    let levels: [String: SinkLog.Level] = ["error": .error, "warning": .warning, "notice": .notice, "debug": .debug]
    let least = settings.logLevel.flatMap { levels[$0] } ?? .notice
    let isJournal = environment["JOURNAL_STREAM"] != nil
    return SinkLog { level, text in
      if level > least { return }
      // One line: the library sees to it.
      Self.write(isJournal ? "<\(level.rawValue)>\(text)\n" : "crash-forward: \(text)\n")
    }
  }

  static func complain(_ text: String) { write("crash-forward: \(CleanText.clean(text))\n") }

  private static func write(_ line: String) {
    let bytes = Array(line.utf8)
    // One write a line, so that lines of several threads do not mix. write reads as many bytes as the array has.
    _ = unsafe Glibc.write(STDERR_FILENO, bytes, bytes.count)
  }

  static func environment() -> [String: String] {
    var environment: [String: String] = [:]
    // environ is an array of C strings with a null pointer at the end; nobody changes the environment.
    var next = unsafe environ
    while let entry = unsafe next.pointee {
      let text = unsafe String(cString: entry)
      unsafe next += 1
      guard let separator = text.firstIndex(of: "=") else { continue }
      environment[String(text[..<separator])] = String(text[text.index(after: separator)...])
    }
    return environment
  }
}
