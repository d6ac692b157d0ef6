public import CrashClient

/// A report for people.
public enum ReportText: Sendable {
  /// The report as text for a terminal.
  public static func text(_ received: ReceivedReport, terminal: Terminal) throws -> String {
    try JSONStyle.pretty.text(received.json)
  }
}
