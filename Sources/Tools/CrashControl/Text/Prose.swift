internal import CrashReport

/// Wraps sentences and facts at blanks, to the width of the terminal.
enum Prose {
  /// The maximum width of sentences, because wider lines are hard to read.
  static let widest = 120

  /// Returns the number of columns for sentences.
  ///
  /// If the output is not a terminal, the number is not limited.
  static func width(_ terminal: Terminal) -> Int { terminal.width.map { min($0, widest) } ?? .max }

  /// Wraps one line of text, which can contain styles.
  ///
  /// The second and later lines are indented.
  static func wrapped(_ text: String, _ terminal: Terminal, indent: Int = 0) -> String {
    let pad = String(repeating: " ", count: indent)
    var (lines, room): ([String], Int) = ([], 0)
    for word in text.split(separator: " ", omittingEmptySubsequences: false) {
      let columns = visible(word)
      if let last = lines.last, room + 1 + columns <= terminal.width ?? .max {
        lines[lines.count - 1] = last + " " + word
        room += 1 + columns
      } else {
        lines.append((lines.isEmpty ? "" : pad) + word)
        room = (lines.count == 1 ? 0 : indent) + columns
      }
    }
    return lines.map { $0 + "\n" }.joined()
  }

  /// Formats facts as two columns: right-aligned titles, and the fact of each title.
  static func facts(_ facts: [(title: String, text: String, style: Terminal.Style?)], _ terminal: Terminal) -> String {
    let column = facts.map(\.title.count).max() ?? 0
    return facts.map { title, text, style in
      let lines = CleanText.line(text).wrapped(to: max(24, width(terminal) - column - 2))
      return lines.enumerated().map { index, line in
        let own = index == 0 ? title : ""
        let padding = String(repeating: " ", count: column - own.count)
        return padding + terminal.styled(own, .bold) + "  " + terminal.styled(line, style) + "\n"
      }.joined()
    }.joined()
  }

  /// Returns the number of characters, not counting escape sequences.
  private static func visible(_ text: Substring) -> Int {
    guard text.contains("\u{1b}") else { return text.count }
    var (count, isEscape) = (0, false)
    for character in text {
      if character == "\u{1b}" { isEscape = true }
      if !isEscape { count += 1 }
      if isEscape, character == "m" { isEscape = false }
    }
    return count
  }
}
