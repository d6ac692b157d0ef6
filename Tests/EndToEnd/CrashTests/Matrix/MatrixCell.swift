import CrashMaker
import CrashReport
import Glibc

/// One scenario on one kind of thread in one build: the smallest part of the matrix.
struct MatrixCell {
  /// What is asked of a cell, in the order of the table's columns.
  enum Check: String, CaseIterable {
    case captured, frames, gdb, reason
    case noHang = "no hang"
    case sameExit = "same exit"
    case nothingLeft = "nothing left"

    /// Whether a gap of the scenario excuses it.
    var isAboutReport: Bool {
      switch self {
      case .captured, .frames, .gdb, .reason: true
      case .noHang, .sameExit, .nothingLeft: false
      }
    }
  }

  /// How much longer than without the shield a process may take to end, on a busy machine.
  static let hangLimit = Duration.seconds(2)
  /// When a process is killed.
  static let outerSlices = 60

  var row: String
  var build: String
  var thread: CrashRun.Thread
  /// What is known to be missing; nil where everything must be right.
  var gap: String?
  /// The results by check; a skipped check is absent, and nil is a success.
  var results: [Check: String?] = [:]

  var complaints: [(Check, String)] {
    Check.allCases.compactMap { check in results[check].flatMap(\.self).map { (check, $0) } }
  }
  var isRight: Bool { complaints.isEmpty }
  /// Whether it fails only where something is not built yet.
  var isExcused: Bool { gap != nil && complaints.allSatisfy { $0.0.isAboutReport } }
  var label: String { "\(row) on \(thread.rawValue), \(build)" }
}

extension MatrixCell {
  /// Crashes with and without the shield, and compares.
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

  /// Takes over what the reports say; silence that only waits to be filled is no success.
  private mutating func judge(_ findings: Findings, _ scenario: Scenario) {
    results[.captured] = .some(findings.capture ?? (scenario.silence == gap ? gap : nil))
    if !findings.isReported { return }
    if !scenario.function.isEmpty { results[.frames] = .some(findings.frames) }
    results[.reason] = .some(findings.reason)
  }

  /// Processes that a cell leaves; those that die with their parent are given time to.
  private static func remains(of token: String) throws -> [String] {
    for _ in 0..<500 where try processes(with: token).isEmpty { return [] }
    return try processes(with: token)
  }

  /// Processes with a cell's token in their environment.
  private static func processes(with token: String) throws -> [String] {
    try entries(of: "/proc").filter { pid in
      // A process may end meanwhile, or be another user's.
      Int32(pid) != nil && (try? contents(of: "/proc/\(pid)/environ"))?.contains(token) == true
    }
  }
}
