extension CrashReport {
  /// Where the record of a crash comes from, if it is not the ring of the process.
  public struct Source: RawRepresentable, Codable, Sendable, Hashable {
    /// The value as a string, as in JSON.
    public var rawValue: String

    /// Creates a value from its string.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A record line, which the process printed and a client imported (docs/record-line.md).
    ///
    /// The record has only a part of the memory, no other threads and no breadcrumbs. The kernel confirmed neither the
    /// process nor its user, so `process.uid` is the user who imported the line.
    public static let recordLine = Source(rawValue: "record-line")
  }
}

extension TextRenderer {
  /// Returns a readable line; empty if crashd read the ring of the process.
  static func sourceText(_ report: CrashReport) -> String {
    guard let source = report.source else { return "" }
    guard source == .recordLine else { return CleanText.line(source.rawValue) }
    return "imported from a record line, which lacks other threads, most memory and the unwind cross-check"
  }
}
