public import CrashProtocol
internal import CrashReport

/// Formats the rules behind the diagnosis of a crash as text.
public enum ExplanationText: Sendable {
  /// Formats the rules that apply, with the facts that each rule read, and the number of rules that do not apply.
  ///
  /// With `all`, the rules that do not apply are also listed.
  public static func text(_ explanation: Explanation, terminal: Terminal, all: Bool = false) -> String {
    let clean = CleanText.line
    let head = "report \(clean(Listings.shortID(explanation.id))): \(clean(explanation.sentence))"
    var text = Prose.wrapped(head, terminal, indent: 2)
    for rule in explanation.rules.filter(\.applies) {
      let mark = terminal.styled(rule.isChosen ? "▶" : " ", .red)
      let what = "\(clean(rule.cause.rawValue)), confidence \(percent(rule.confidence))"
      text += "\n\(mark) applies  \(terminal.styled(clean(rule.rule), .bold))  \(what)\n"
      if let sentence = rule.sentence { text += evidence("says", clean(sentence), nil, terminal) }
      for line in rule.saw { text += evidence("saw", clean(line), .dim, terminal) }
    }
    let others = explanation.rules.filter { !$0.applies }
    guard !others.isEmpty else { return text }
    guard all else {
      let count = others.count == 1 ? "1 rule does" : "\(others.count) rules do"
      return text + "\n" + terminal.styled("\(count) not apply: see --all", .dim) + "\n"
    }
    text += "\n"
    for rule in others {
      text += "  does not apply  \(clean(rule.rule))\n"
      text += evidence("saw", clean(rule.saw.joined(separator: "; ")), .dim, terminal)
    }
    return text
  }

  private static func evidence(
    _ title: String, _ text: String, _ style: Terminal.Style?, _ terminal: Terminal
  ) -> String {
    let lines = text.wrapped(to: max(24, Prose.width(terminal) - 17))
    return lines.enumerated().map { index, line in
      String(repeating: " ", count: 11) + terminal.styled((index == 0 ? "\(title):" : "").padded(to: 6) + line, style)
        + "\n"
    }.joined()
  }

  /// Formats a share in percent.
  ///
  /// Returns `unknown` for a number that is not a share, because crashd's reply is untrusted.
  private static func percent(_ share: Double) -> String {
    share >= 0 && share <= 1 ? "\(Int((share * 100).rounded())) %" : "unknown"
  }
}
