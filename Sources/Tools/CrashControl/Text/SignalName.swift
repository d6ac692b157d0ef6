/// Parses the names of signals that users enter.
public enum SignalName: Sendable {
  /// The names of the signals that a report can contain, with their numbers on x86-64 and AArch64.
  private static let numbers = [
    1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE",
    9: "SIGKILL", 11: "SIGSEGV", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM", 24: "SIGXCPU", 25: "SIGXFSZ",
    31: "SIGSYS",
  ]

  /// Returns `SIGSEGV` for `segv`, `SIGSEGV` and `11`.
  ///
  /// Returns nil for any other string.
  public static func parse(_ text: String) -> String? {
    if let number = Int(text) { return numbers[number] }
    let upper = text.uppercased()
    let name = upper.hasPrefix("SIG") ? upper : "SIG" + upper
    return numbers.values.contains(name) ? name : nil
  }
}
