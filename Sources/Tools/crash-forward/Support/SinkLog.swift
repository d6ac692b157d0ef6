import CrashReport

/// Where the library tells what operators want to know.
public struct SinkLog: Sendable {
  /// As syslog numbers them.
  public enum Level: Int, Sendable, Comparable {
    /// Something is lost, or stands until somebody does something.
    case error = 3
    /// It goes on by itself, perhaps.
    case warning = 4
    /// Said once.
    case notice = 5
    /// For those who look for something.
    case debug = 7

    /// By weight.
    public static func < (left: Level, right: Level) -> Bool { left.rawValue < right.rawValue }
  }

  private let write: @Sendable (Level, String) -> Void

  /// Logs by a function that any thread may call.
  public init(_ write: @escaping @Sendable (Level, String) -> Void) { self.write = write }

  /// One line, whatever is told: servers' words are in it, and what a crashed program has said.
  func callAsFunction(_ level: Level, _ text: String) { write(level, CleanText.line(text)) }
}
