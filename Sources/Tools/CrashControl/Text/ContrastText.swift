public import CrashProtocol
internal import CrashReport

/// Formats the values that are more frequent in a group than in the other crashes of its programs.
public enum ContrastText: Sendable {
  /// Formats a heading, and a table with a line for each finding.
  public static func text(_ contrast: GroupContrast, terminal: Terminal) -> String {
    let heading = terminal.styled("What sets the group apart", .bold) + "\n"
    let total = Listings.grouped(contrast.groupCount)
    let sample = contrast.groupCount < contrast.groupStored ? " of \(Listings.grouped(contrast.groupStored))" : ""
    let others = "\(Listings.grouped(contrast.restCount)) other \(contrast.restCount == 1 ? "crash" : "crashes")"
    let counts =
      "\(total)\(sample) \(contrast.groupStored == 1 ? "crash" : "crashes") of the group, compared with "
      + "\(others) of the same programs"
    guard contrast.restCount > 0, contrast.groupCount > 0 else {
      return heading + Prose.wrapped("Nothing to compare: \(counts).", terminal)
    }
    guard !contrast.findings.isEmpty else {
      return heading
        + Prose.wrapped(
          "No value is more frequent than chance explains (\(counts); \(contrast.tests) tests).", terminal)
    }
    let columns: [Table.Column] = [
      .init(title: "KEY", minimum: 8, maximum: 24, style: .bold),
      .init(title: "VALUE", minimum: 12, maximum: 48),
      .init(title: "GROUP", alignsRight: true), .init(title: "OTHERS", alignsRight: true),
      .init(title: "LIFT", alignsRight: true), .init(title: "P", alignsRight: true),
    ]
    let rows = contrast.findings.map { finding in
      [
        finding.key, finding.value, percent(finding.inGroup, of: contrast.groupCount),
        percent(finding.inRest, of: contrast.restCount), "×\(tenths(finding.lift))", power(finding.probability),
      ].map(CleanText.line)
    }
    return heading + Table(columns: columns, rows: rows).text(for: terminal, legend: true)
      + Prose.wrapped(
        "\(counts); P is the probability by chance, corrected for \(contrast.tests) tests. "
          + "A finding is a clue, not a cause.", terminal)
  }

  private static func percent(_ count: Int, of total: Int) -> String {
    guard total > 0, count > 0 else { return "0 %" }
    let share = 100 * Double(count) / Double(total)
    guard share <= 100 else { return "?" }
    return share < 1 ? "<1 %" : "\(Int(share.rounded())) %"
  }

  /// Formats a number with one digit after the point; `?` for a value that is not possible, because crashd's reply is
  /// untrusted.
  private static func tenths(_ value: Double) -> String {
    guard value.isFinite, value >= 0, value < 1e6 else { return "?" }
    let tenths = Int((value * 10).rounded())
    return "\(tenths / 10).\(tenths % 10)"
  }

  /// Formats a probability as a number with two digits, or as a power of ten.
  private static func power(_ probability: Double) -> String {
    guard probability.isFinite, probability >= 0, probability <= 1 else { return "?" }
    if probability >= 0.01 {
      let hundredths = Int((probability * 100).rounded())
      return hundredths >= 100 ? "1.00" : "0.\(hundredths < 10 ? "0" : "")\(hundredths)"
    }
    var (exponent, rest) = (0, probability)
    while rest < 1, exponent < 300 { (rest, exponent) = (rest * 10, exponent + 1) }
    return exponent >= 300 ? "<1e-299" : "\(Int(rest))e-\(exponent)"
  }
}
