import CrashMaker

/// Formats the matrix as a Markdown page: one line per scenario, then the failures, the known gaps and the scenarios
/// that cannot run here.
struct MatrixTable {
  var cells: [MatrixCell]
  /// The scenarios and builds that did not run, each with the reason.
  var notRun: [(name: String, reason: String)]
  /// The number of cells that cannot run here.
  var notRunCount: Int
  /// The descriptors, processes and spool files that remain in crashd at the end.
  var remains: [String]

  private var failed: [MatrixCell] { cells.filter { !$0.isRight && !$0.isExcused } }
  private var excused: [MatrixCell] { cells.filter { !$0.isRight && $0.isExcused } }

  var passedCount: Int { cells.count { $0.isRight } }
  var failedCount: Int { failed.count + remains.count }
  var summary: String { "\(passedCount) passed, \(failedCount) failed" }

  var text: String {
    let header = ["scenario", "threads × builds"] + MatrixCell.Check.allCases.map(\.rawValue)
    var lines = [header, header.map { _ in "---" }].map(line)
    for row in rows { lines.append(line([row.name, String(row.cells.count)] + counts(row.cells))) }
    lines += section(
      "Failed",
      failed.flatMap { cell in cell.complaints.map { "\(cell.label): \($0.0.rawValue): \(short($0.1))" } } + remains)
    lines += section("Known gaps", gaps)
    lines += section("Not run here", notRun.map { "\($0.name): \($0.reason)" })
    let share = Double(notRunCount * 1_000 / max(1, cells.count + notRunCount)) / 10
    lines += ["", "\(cells.count) cells were run. \(notRunCount) further cells (\(share) % of all) cannot run."]
    let repeated = cells.filter(\.isRepeated).map(\.label)
    if !repeated.isEmpty {
      lines += ["", "Run twice, because the first result was wrong: \(repeated.joined(separator: "; "))."]
    }
    let excusedText = excused.isEmpty ? "" : " (\(excused.count) more fail because of known gaps)"
    return (lines + ["", summary + excusedText]).joined(separator: "\n") + "\n"
  }

  private var rows: [(name: String, cells: [MatrixCell])] {
    var names: [String] = []
    for cell in cells where names.last != cell.row { if !names.contains(cell.row) { names.append(cell.row) } }
    return names.map { name in (name, cells.filter { $0.row == name }) }
  }

  /// Formats each check as the number of cells that passed it, a slash and the number that had it, or as a dash if none
  /// had it.
  private func counts(_ cells: [MatrixCell]) -> [String] {
    MatrixCell.Check.allCases.map { check in
      let made = cells.compactMap { $0.results[check] }
      return made.isEmpty ? "–" : "\(made.count { $0 == nil })/\(made.count)"
    }
  }

  /// Formats one line for each scenario with a known gap: the gap and its reason.
  private var gaps: [String] {
    var lines: [String] = []
    for row in rows {
      let missing = row.cells.filter { !$0.isRight && $0.isExcused }
      guard let reason = missing.first?.gap else { continue }
      lines.append("\(row.name) (\(missing.count) of \(row.cells.count)): \(reason)")
    }
    return lines
  }

  private func section(_ title: String, _ lines: [String]) -> [String] {
    lines.isEmpty ? [] : ["", "## \(title)", ""] + lines.map { "- \($0)" }
  }

  private func line(_ columns: [String]) -> String { "| " + columns.joined(separator: " | ") + " |" }

  private func short(_ text: String) -> String { text.split(separator: "\n").prefix(4).joined(separator: " ⏎ ") }
}
