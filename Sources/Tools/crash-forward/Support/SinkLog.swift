import CrashReport

/// The log of `crash-forward`, for operators.
public struct SinkLog: Sendable {
  /// The levels, with syslog's numbers.
  public enum Level: Int, Sendable, Comparable {
    /// A loss, or a failure that needs an operator.
    case error = 3
    /// A failure that can be temporary.
    case warning = 4
    /// A normal but significant event.
    case notice = 5
    /// Details for debugging.
    case debug = 7

    /// Orders levels by severity.
    public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
  }

  private let write: @Sendable (Level, String) -> Void

  /// Creates a log that calls `write` for each line.
  ///
  /// Any thread may call `write`.
  public init(_ write: @escaping @Sendable (Level, String) -> Void) { self.write = write }

  /// Writes one line.
  ///
  /// The text can contain untrusted input from servers and crashed programs.
  func callAsFunction(_ level: Level, _ text: String) { write(level, CleanText.line(text)) }
}
