internal import CrashReport

/// The result of one check of `crashctl doctor`, and the remedy.
public struct Finding: Sendable, Equatable, Encodable {
  /// The severity of a finding.
  public enum Level: String, Sendable, Encodable, CaseIterable {
    /// The check found no fault.
    case good
    /// The check found a fact that does not affect reports.
    case note
    /// Reports will be incomplete.
    case warning
    /// crashctl cannot find out whether crashes will be captured.
    case unknown
    /// Crashes will not be captured or reported.
    case fault
  }

  /// The severity of this finding.
  public var level: Level
  /// The subject of the check, such as `socket` or `build id`.
  public var subject: String
  /// The result of the check, as a sentence.
  public var sentence: String
  /// The remedy; empty if no action is necessary.
  public var remedy: String

  /// Creates a finding.
  public init(_ level: Level, _ subject: String, _ sentence: String, remedy: String = "") {
    self.level = level
    self.subject = subject
    self.sentence = sentence
    self.remedy = remedy
  }

  /// Returns the text that `crashctl doctor` prints: a verdict about all parts, followed by the findings of each part.
  ///
  /// Unless `all` is true, the findings of the level `good` are omitted.
  public static func text(
    _ parts: [(title: String, findings: [Finding])], terminal: Terminal, all: Bool
  ) -> String {
    let findings = parts.flatMap(\.findings)
    let head = verdict(findings)
    var text = Prose.wrapped(terminal.styled(head.word, head.style) + ": \(head.sentence)", terminal, indent: 2)
    for (title, findings) in parts {
      let shown = all ? findings : findings.filter { $0.level != .good }
      guard !shown.isEmpty else { continue }
      text += "\n" + terminal.styled(title, .bold) + "\n" + shown.map { $0.text(shown, terminal) }.joined()
    }
    let hidden = all ? 0 : findings.count { $0.level == .good }
    if hidden > 0 {
      text +=
        "\n" + terminal.styled("\(hidden) good \(hidden == 1 ? "check" : "checks") not shown: see -v", .dim) + "\n"
    }
    return text
  }

  private static func verdict(_ findings: [Finding]) -> (word: String, sentence: String, style: Terminal.Style) {
    let (faults, warnings) = (findings.count { $0.level == .fault }, findings.count { $0.level == .warning })
    let counts = { (count: Int, noun: String) in count == 0 ? "no \(noun)s" : "\(count) \(noun)\(count == 1 ? "" : "s")"
    }
    let sum = "\(counts(faults, "fault")), \(counts(warnings, "warning")) in \(findings.count) checks"
    if faults > 0 { return ("FAULT", "crashes will not be captured or reported correctly; \(sum)", .red) }
    if findings.contains(where: { $0.level == .unknown }) {
      return ("UNKNOWN", "whether crashes will be captured is not visible; \(sum)", .bold)
    }
    if warnings > 0 { return ("WARNING", "crashes will be captured, but reports may be incomplete; \(sum)", .bold) }
    return ("OK", "crashes will be captured and reports will be complete; \(sum)", .bold)
  }

  /// Returns a symbol for the level, the subject and the result, followed by the remedy on separate lines.
  private func text(_ all: [Finding], _ terminal: Terminal) -> String {
    let column = all.map(\.subject.count).max() ?? 0
    let room = max(24, Prose.width(terminal) - column - 7)
    let indent = String(repeating: " ", count: column + 6)
    let head = "  \(terminal.styled(level.mark, level.style)) \(subject.padded(to: column))  "
    let lines = CleanText.line(sentence).wrapped(to: room)
    let todo = remedy.isEmpty ? [] : ("→ " + CleanText.line(remedy)).wrapped(to: room)
    return head + lines.joined(separator: "\n" + indent) + "\n"
      + todo.map { indent + terminal.styled($0, .dim) + "\n" }.joined()
  }
}

extension Finding.Level {
  fileprivate var mark: String {
    switch self {
    case .good: "✓"
    case .note: "·"
    case .warning: "!"
    case .unknown: "?"
    case .fault: "✗"
    }
  }

  fileprivate var style: Terminal.Style? {
    switch self {
    case .good, .note: .dim
    case .warning, .unknown: .bold
    case .fault: .red
    }
  }
}
