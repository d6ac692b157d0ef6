internal import CrashReport

/// The result of one check, and what to do about it.
public struct Finding: Sendable, Equatable, Encodable {
  /// The severity.
  public enum Level: String, Sendable, Encodable, CaseIterable {
    /// Correct.
    case good
    /// Worth knowing.
    case note
    /// Reports will be incomplete.
    case warning
    /// Crashes will not be captured or reported.
    case fault
  }

  /// The severity.
  public var level: Level
  /// The subject of the check, such as `socket` or `build id`.
  public var subject: String
  /// The result.
  public var sentence: String
  /// The remedy; empty if there is nothing to do.
  public var remedy: String

  /// Makes a finding.
  public init(_ level: Level, _ subject: String, _ sentence: String, remedy: String = "") {
    self.level = level
    self.subject = subject
    self.sentence = sentence
    self.remedy = remedy
  }

  /// One line each, with a second one for a remedy.
  public static func text(_ findings: [Finding], title: String, terminal: Terminal) -> String {
    let width = findings.map { $0.subject.count }.max() ?? 0
    var text = terminal.styled(title, .bold) + "\n"
    for finding in findings {
      let subject = finding.subject + String(repeating: " ", count: width - finding.subject.count)
      let mark = terminal.styled(finding.level.mark, finding.level.style)
      text += "  \(mark) \(subject)  \(CleanText.line(finding.sentence))\n"
      if !finding.remedy.isEmpty {
        text += String(repeating: " ", count: width + 12) + terminal.styled(CleanText.line(finding.remedy), .dim) + "\n"
      }
    }
    return text
  }
}

extension Finding.Level {
  fileprivate var mark: String {
    switch self {
    case .good: "good   "
    case .note: "note   "
    case .warning: "warning"
    case .fault: "FAULT  "
    }
  }

  fileprivate var style: Terminal.Style? {
    switch self {
    case .good, .note: .dim
    case .warning: .bold
    case .fault: .red
    }
  }
}
