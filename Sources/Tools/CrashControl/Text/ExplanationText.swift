public import CrashProtocol
internal import CrashReport

/// The rules behind the diagnosis of a crash, as text.
public enum ExplanationText: Sendable {
  /// The rules that apply first, with the facts that they read; then the others.
  public static func text(_ explanation: Explanation, terminal: Terminal) -> String {
    let clean = CleanText.line
    let applying = explanation.rules.filter(\.applies)
    var text = "report \(clean(Listings.shortID(explanation.id))): \(clean(explanation.sentence))\n"
    for rule in applying {
      let mark = terminal.styled(rule.isChosen ? "▶ pass" : "  pass", rule.isChosen ? .red : nil)
      text +=
        "\n\(mark)  \(terminal.styled(clean(rule.rule), .bold))  \(clean(rule.cause.rawValue)), confidence \(percent(rule.confidence))\n"
      if let sentence = rule.sentence { text += "        says: \(clean(sentence))\n" }
      for line in rule.saw { text += terminal.styled("        saw:  \(clean(line))", .dim) + "\n" }
    }
    let others = explanation.rules.filter { !$0.applies }
    if !others.isEmpty { text += "\n" }
    let width = others.map(\.rule.count).max() ?? 0
    for rule in others {
      let name = clean(rule.rule) + String(repeating: " ", count: width - rule.rule.count)
      text += "  fail  \(name)  " + terminal.styled(clean(rule.saw.joined(separator: "; ")), .dim) + "\n"
    }
    return text
  }

  /// crashd's reply may contain any number.
  private static func percent(_ share: Double) -> String {
    share >= 0 && share <= 1 ? "\(Int((share * 100).rounded())) %" : "unknown"
  }
}
