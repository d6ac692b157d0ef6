/// The few styles of a report, named by what they mean; only the 16 colours that each terminal's theme makes readable.
struct TextStyle {
  let color: Bool

  /// What happened.
  func alarm(_ text: String) -> String { wrap(text, "1;31") }
  /// The program's own function.
  func own(_ text: String) -> String { wrap(text, "1") }
  /// A place in the program's own source.
  func place(_ text: String) -> String { wrap(text, "1;33") }
  /// The marker before an own frame.
  func marker(_ text: String) -> String { wrap(text, "1;31") }
  /// A heading.
  func strong(_ text: String) -> String { wrap(text, "1") }
  /// What is seldom needed.
  func faint(_ text: String) -> String { wrap(text, "2") }
  /// What limits the trust in the report.
  func warning(_ text: String) -> String { wrap(text, "33") }

  private func wrap(_ text: String, _ code: String) -> String {
    color && !text.isEmpty ? "\u{1b}[\(code)m\(text)\u{1b}[0m" : text
  }
}
