public import CrashProtocol
internal import CrashReport

/// A report for people.
public enum ReportText: Sendable {
  /// The maximum width of prose, also on a wider terminal.
  private static let widest = 120

  /// The result of a new analysis, in one line.
  public static func line(_ outcome: ReanalysedReport) -> String {
    let report = outcome.report.report
    let change = outcome.changed ? "changed" : "is unchanged"
    return CleanText.line("report \(Listings.shortID(report.id)) \(change): \(report.diagnosis.sentence)") + "\n"
  }

  /// The report as text; `verbose` adds registers, images and folded frames.
  public static func text(_ received: ReceivedReport, terminal: Terminal, verbose: Bool = false) -> String {
    let width = min(terminal.width ?? 100, widest)
    let text = TextRenderer(
      color: terminal.hasColor, width: width, verbose: verbose, source: SourceFiles.lookup(for: received.report)
    ).render(received.report)
    return text.hasSuffix("\n") ? text : text + "\n"
  }
}
