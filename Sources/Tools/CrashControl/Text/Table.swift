internal import CrashReport

/// A table whose columns are fitted to the width of the terminal.
///
/// A column with the same value in all rows is removed, and the value is printed once below the table. If the table is
/// still too wide, columns shrink, and finally optional columns are dropped. If the output is not a terminal, all
/// columns have their full width.
struct Table {
  enum Cut {
    case end
    /// Cuts the start of a path or a call site, because its end is the important part.
    case beginning
    /// Cuts the end of a digest, without an ellipsis.
    case digits
  }

  struct Column {
    var title: String
    var alignsRight = false
    /// The minimum width of the column; `Int.max` means that the column does not shrink.
    var minimum = Int.max
    /// The maximum width of the column on a terminal; `Int.max` means no limit.
    var maximum = Int.max
    /// The part of a cell's text that is cut off if the column is too narrow.
    var cut = Cut.end
    /// The order in which columns are dropped.
    ///
    /// The column with the greatest number is dropped first; a column with 0 is never dropped.
    var dropOrder = 0
    /// The name that is printed with a value that all rows share, such as `uid` in `uid 0`.
    ///
    /// If nil, the column stays in the table even if all rows share its value.
    var common: String?
    /// Whether the column is omitted in an overview (`Terminal.isBrief`).
    var isDetail = false
    var style: Terminal.Style?
  }

  var columns: [Column]
  var rows: [[String]]
  /// Whether `rows` has all rows of the table; false if it has only the rows of the first page.
  var isWhole = true

  func text(for terminal: Terminal, legend: Bool) -> String {
    var shown = Array(columns.indices)
    var common: [Int] = []
    // Drop a column whose cells are all empty. Keep all columns of a table without rows, so that the titles are shown.
    shown.removeAll { index in isWhole && !rows.isEmpty && rows.allSatisfy { $0[index].isEmpty } }
    if terminal.isBrief, isWhole {
      shown.removeAll { columns[$0].isDetail }
      if legend, rows.count > 1 {
        common = shown.filter { index in columns[index].common != nil && Set(rows.map { $0[index] }).count == 1 }
        shown.removeAll(where: common.contains)
      }
    }
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
    var lines = rows.map { row in line(shown) { (row[$0], widths[$0], columns[$0].style) } }
    if legend { lines.insert(line(shown) { (columns[$0].title, widths[$0], .bold) }, at: 0) }
    return lines.map { $0(terminal) + "\n" }.joined() + said(common, terminal)
  }

  /// Formats the shared values, such as `All rows: uid 0, state open`.
  private func said(_ common: [Int], _ terminal: Terminal) -> String {
    guard let row = rows.first, !common.isEmpty else { return "" }
    let values = common.map { "\(columns[$0].common ?? "") \(row[$0])" }
    let text = "All rows: " + values.joined(separator: ", ")
    return text.wrapped(to: terminal.width ?? .max).map { terminal.styled($0, .dim) + "\n" }.joined()
  }

  /// Repeatedly shrinks the widest shrinkable column until the line fits.
  ///
  /// Returns false if the line cannot fit.
  private func shrink(_ widths: inout [Int], _ shown: [Int], to available: Int) -> Bool {
    var trial = widths
    var excess = shown.map { trial[$0] }.reduce(shown.count - 1, +) - available
    while excess > 0 {
      let givers = shown.filter { trial[$0] > columns[$0].minimum }
      // Shrink digests first, because a few of their digits are enough.
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
