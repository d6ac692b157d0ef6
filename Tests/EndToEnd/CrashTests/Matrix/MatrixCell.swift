import CrashMaker
import CrashReport
import Glibc

/// The result of one scenario on one kind of thread in one build.
///
/// The matrix has one cell for each of these combinations.
struct MatrixCell {
  /// The checks of a cell, in the order of the table's columns.
  enum Check: String, CaseIterable {
    case captured, frames, gdb, reason
    case noHang = "no hang"
    case sameExit = "same exit"
    case nothingLeft = "nothing left"

    /// Whether the check is about the contents of the report.
    ///
    /// If the reports of a scenario are known to lack something (its gap), only such checks may fail.
    var isAboutReport: Bool {
      switch self {
      case .captured, .frames, .gdb, .reason: true
      case .noHang, .sameExit, .nothingLeft: false
      }
    }
  }

  /// The time by which a process with the shield may end later than one without it, also on a busy machine.
  ///
  /// Emulation makes the handler 30 to 80 times slower, and several cells then run at a time.
  static let hangLimit = Duration.seconds(MatrixEmulation.isUsed ? 10 : 2)
  /// The number of slices after which the test kills the process.
  static let outerSlices = 60

  var row: String
  var build: String
  var thread: CrashRun.Thread
  /// What the report of this scenario on this kind of thread is known to lack.
  ///
  /// It is nil if every check must succeed.
  var gap: String?
  /// Whether the first run failed a check, so that the scenario ran again.
  var isRepeated = false
  /// The results of the checks: nil for success, or else the complaint.
  ///
  /// A check that was skipped is not in the dictionary.
  var results: [Check: String?] = [:]

  var complaints: [(Check, String)] {
    Check.allCases.compactMap { check in results[check].flatMap(\.self).map { (check, $0) } }
  }
  var isRight: Bool { complaints.isEmpty }
  /// Whether the cell has a known gap and fails only checks that the gap excuses.
  var isExcused: Bool { gap != nil && complaints.allSatisfy { $0.0.isAboutReport } }
  var label: String { "\(row) on \(thread.rawValue), \(build)" }
}

extension MatrixCell {
  /// Runs the scenario with and without the shield and compares the results.
  static func run(
    _ scenario: Scenario, on thread: CrashRun.Thread, in build: MatrixBuild, under daemon: PrivateDaemon
  ) async throws -> MatrixCell {
    var cell = MatrixCell(row: scenario.name, build: build.name, thread: thread)
    cell.gap = scenario.hasGap(on: thread) ? scenario.gap?.reason : nil
    let token = "cell-\(scenario.name)-\(thread.rawValue)-\(build.name)"
    let options = ["--thread", thread.rawValue]
    let environment = daemon.place.environment.merging(["CRASH_MATRIX_CELL": token]) { $1 }
      .merging(build.environment) { $1 }
    let with: Crasher.Outcome
    let without: Crasher.Outcome
    do {
      without = try await Crasher.run(
        scenario.name, options, environment: ["CRASHSHIELD_DISABLE": "1"], program: build.program, slices: outerSlices)
      with = try await Crasher.run(
        scenario.name, build.options + options, environment: environment, program: build.program,
        slices: outerSlices)
    } catch let error as SystemError where error.errno == ETIMEDOUT {
      cell.results[.noHang] = .some("\(error)")
      return cell
    }
    let excess = with.duration - without.duration
    cell.results[.noHang] = .some(excess > hangLimit ? "took \(excess) longer" : nil)
    cell.results[.sameExit] = .some(
      with.status == without.status
        ? try scenario.complaint(about: with) : "\(with.status), without the shield \(without.status): \(with.error)")
    let reports = try await daemon.reports(of: with.reportedPid(of: scenario))
    for run in [with, without] { scenario.endChild(of: run) }
    let left = try remains(of: token)
    cell.results[.nothingLeft] = .some(left.isEmpty ? nil : "left: \(left)")
    cell.judge(try Findings(reports, of: scenario, isOptimized: build.isOptimized), scenario)
    return cell
  }

  /// Converts the findings into the results of the checks.
  ///
  /// A missing report fails the check `captured`, even if it is a known gap.
  mutating func judge(_ findings: Findings, _ scenario: Scenario) {
    results[.captured] = .some(findings.capture ?? (scenario.silence == gap ? gap : nil))
    if !findings.isReported { return }
    if !scenario.function.isEmpty { results[.frames] = .some(findings.frames) }
    results[.reason] = .some(findings.reason)
  }

  /// Returns the processes that the run of a cell has left behind.
  ///
  /// First waits for processes that end only after their parent.
  private static func remains(of token: String) throws -> [String] {
    for _ in 0..<500 where try processes(with: token).isEmpty { return [] }
    return try processes(with: token)
  }

  /// Returns the processes whose environment contains the token, a text that marks the processes of one cell.
  private static func processes(with token: String) throws -> [String] {
    try entries(of: "/proc").filter { pid in
      // Reading fails if the process has just ended, or if it belongs to another user.
      Int32(pid) != nil && (try? contents(of: "/proc/\(pid)/environ"))?.contains(token) == true
    }
  }
}
