/// Rows of cells that fit the terminal: columns shrink, then the ones that can be missed go.
struct Table {
  enum Cut {
    case end
    /// Of a path or a place the end says most.
    case beginning
    /// Of a digest any part will do, without a mark.
    case digits
  }

  struct Column {
    var title: String
    var alignsRight = false
    /// The column may shrink to so many characters.
    var minimum = Int.max
    /// It is at most so wide on a terminal.
    var maximum = Int.max
    /// What goes when the column is too narrow.
    var cut = Cut.end
    /// Columns go in this order; 0 stays.
    var dropOrder = 0
    var style: Terminal.Style?
  }

  var columns: [Column]
  var rows: [[String]]

  func text(for terminal: Terminal, legend: Bool) -> String {
    var shown = Array(columns.indices)
    var widths = columns.indices.map { index in
      let longest = rows.map { $0[index].count }.max() ?? 0
      let natural = max(longest, legend ? columns[index].title.count : 0)
      return terminal.width == nil ? natural : min(natural, columns[index].maximum)
    }
    if let available = terminal.width {
      while !shrink(&widths, shown, to: available) {
        let candidates = shown.filter { columns[$0].dropOrder > 0 }
        guard let next = candidates.min(by: { columns[$0].dropOrder < columns[$1].dropOrder }) else { break }
        shown.removeAll { $0 == next }
      }
    }
    // A column without anything in it only takes room.
    shown.removeAll { index in rows.allSatisfy { $0[index].isEmpty } }
    var lines = rows.map { row in line(shown) { (row[$0], widths[$0], columns[$0].style) } }
    if legend { lines.insert(line(shown) { (columns[$0].title, widths[$0], .bold) }, at: 0) }
    return lines.map { $0(terminal) + "\n" }.joined()
  }

  /// Takes characters from the widest column that can give some, until the line fits; false when it cannot.
  private func shrink(_ widths: inout [Int], _ shown: [Int], to available: Int) -> Bool {
    var trial = widths
    var excess = shown.map { trial[$0] }.reduce(shown.count - 1, +) - available
    while excess > 0 {
      let givers = shown.filter { trial[$0] > columns[$0].minimum }
      // Digests are shortened first: a reader needs few of their digits.
      let digest = givers.first { columns[$0].cut == .digits }
      guard let giver = digest ?? givers.max(by: { trial[$0] < trial[$1] }) else { return false }
      trial[giver] -= 1
      excess -= 1
    }
    widths = trial
    return true
  }

  private func line(
    _ shown: [Int], _ cell: @escaping (Int) -> (text: String, width: Int, style: Terminal.Style?)
  ) -> (Terminal) -> String {
    { terminal in
      var result = ""
      for index in shown {
        let (text, width, style) = cell(index)
        let fitting = fit(text, width, columns[index].cut)
        let padding = String(repeating: " ", count: width - fitting.count)
        let styled = terminal.styled(fitting, style)
        if index != shown.first { result += " " }
        if columns[index].alignsRight { result += padding + styled } else { result += styled + padding }
      }
      while result.last == " " { result.removeLast() }
      return result
    }
  }

  private func fit(_ text: String, _ width: Int, _ cut: Cut) -> String {
    guard text.count > width else { return text }
    switch cut {
    case .end: return text.prefix(max(0, width - 1)) + "…"
    case .beginning: return "…" + text.suffix(max(0, width - 1))
    case .digits: return String(text.prefix(width))
    }
  }
}
