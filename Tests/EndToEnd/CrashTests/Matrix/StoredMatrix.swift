import CrashMaker
import FoundationEssentials
import Glibc
import TestKit

/// A file with cells of the matrix, to which each run of the matrix adds its cells.
///
/// With the file, a run can continue an interrupted one, and runs under different emulators can make one table. Each
/// line is a cell as JSON. If several lines have the same cell, the last one counts.
final class StoredMatrix: Sendable {
  private let file: FileDescriptor

  private struct Cell: Codable {
    var row: String
    var build: String
    var thread: String
    var gap: String?
    var isRepeated: Bool
    /// The checks that succeeded.
    var passed: [String]
    /// The complaints of the checks that failed.
    var complaints: [String: String]
  }

  init(_ path: String) throws {
    file = try FileDescriptor(
      unsafe open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o644), from: "open '\(path)'")
  }

  /// Reads the cells of the file that failed no check except those that a known gap excuses.
  ///
  /// Returns them by their labels.
  func right() throws -> [String: MatrixCell] {
    var cells: [String: MatrixCell] = [:]
    lseek(file.number, 0, SEEK_SET)
    let bytes = try Array(file.readToEnd())
    // A last line without a newline is incomplete, because the run that wrote it was interrupted.
    let completeCount = bytes.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    guard ftruncate(file.number, completeCount) == 0 else { throw SystemError("remove an incomplete cell", errno) }
    for line in String(decoding: bytes[..<completeCount], as: UTF8.self).split(separator: "\n") {
      let cell = try Self.cell(JSONDecoder().decode(Cell.self, from: Data(line.utf8)))
      cells[cell.label] = cell.isRight || cell.isExcused ? cell : nil
    }
    return cells
  }

  func add(_ cell: MatrixCell) throws {
    let stored = Cell(
      row: cell.row, build: cell.build, thread: cell.thread.rawValue, gap: cell.gap, isRepeated: cell.isRepeated,
      passed: MatrixCell.Check.allCases.filter { cell.results[$0] == .some(nil) }.map(\.rawValue),
      complaints: Dictionary(cell.complaints.map { ($0.0.rawValue, $0.1) }) { first, _ in first })
    let line = try Array(JSONEncoder().encode(stored)) + [UInt8(ascii: "\n")]
    // Invariant: write reads as many bytes as the array has. The kernel appends a line of a regular file as a whole.
    guard unsafe write(file.number, line, line.count) == line.count else { throw SystemError("write a cell", errno) }
  }

  private static func cell(_ stored: Cell) throws -> MatrixCell {
    guard let thread = CrashRun.Thread(rawValue: stored.thread) else {
      throw SystemError("a stored cell is on '\(stored.thread)', which is no kind of thread", EINVAL)
    }
    var cell = MatrixCell(row: stored.row, build: stored.build, thread: thread, gap: stored.gap)
    cell.isRepeated = stored.isRepeated
    for check in MatrixCell.Check.allCases {
      if stored.passed.contains(check.rawValue) { cell.results[check] = .some(nil) }
      if let complaint = stored.complaints[check.rawValue] { cell.results[check] = .some(complaint) }
    }
    return cell
  }
}
