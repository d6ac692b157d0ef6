public import CrashProtocol
public import CrashReport

/// Formats a report for people.
public enum ReportText: Sendable {
  /// The parts of a report that only the verbose form contains by default.
  ///
  /// Each part can also be requested separately.
  public enum Part: Sendable, Hashable {
    case registers
    case threads
    case images
  }

  /// Formats the result of a repeated analysis as one line.
  public static func line(_ outcome: ReanalysedReport) -> String {
    let report = outcome.report.report
    let change = outcome.changed ? "changed" : "is unchanged"
    return CleanText.line("report \(Listings.shortID(report.id)) \(change): \(report.diagnosis.sentence)") + "\n"
  }

  /// Formats the result of an import as one line.
  public static func line(_ imported: ImportedRecord, _ report: CrashReport?) -> String {
    let id = Listings.shortID(imported.id)
    guard let report else { return "already removed \(id), or not readable by you\n" }
    let what = imported.isNew ? "imported" : "already stored"
    return CleanText.line("\(what) \(id) \(report.process.name): \(report.diagnosis.sentence)") + "\n"
  }

  /// Formats the report as text.
  ///
  /// `verbose` adds registers, images, threads and folded frames. `parts` adds only the parts that it lists. `earlier`
  /// is the id of the crash that preceded an unreported exit.
  public static func text(
    _ received: ReceivedReport, terminal: Terminal, verbose: Bool = false, parts: Set<Part> = [],
    earlier: String? = nil
  ) -> String {
    var renderer = TextRenderer(
      color: terminal.hasColor, width: terminal.width ?? 100, verbose: verbose,
      source: SourceFiles.lookup(for: received.report), times: terminal.clock.times(withAge: terminal.width != nil))
    if parts.contains(.registers) { renderer.showsRegisters = true }
    if parts.contains(.threads) { renderer.showsThreads = true }
    if parts.contains(.images) { renderer.showsImages = true }
    var text = renderer.render(received.report)
    if let earlier, let end = text.firstRange(of: "\n\n") {
      text.replaceSubrange(end, with: "\nThe crash before: crashctl show \(Listings.shortID(earlier))\n\n")
    }
    return text.hasSuffix("\n") ? text : text + "\n"
  }
}
