import CrashMaker
import CrashReport
import Glibc
import TestKit

/// The errors that a test found in the reports of one run of crash-maker.
///
/// A field is nil if there is no such error.
struct Findings {
  /// The error in the number of reports, in their signal or in their crashed threads.
  var capture: String?
  /// Whether a report exists whose contents the test can check.
  var isReported = false
  /// The error in a crashed thread: in its topmost in-app function, in the line of that function, or in the functions
  /// that await it.
  var frames: String?
  /// The error in the runtime error message, or in what `Expectation` requires.
  var reason: String?

  var all: [String] { [capture, frames, reason].compactMap(\.self) }

  init(
    _ reports: [CrashReport], of scenario: Scenario, isOptimized: Bool, moreCauses: Set<String> = [],
    mayLoseThreads: Bool = false
  ) throws {
    if scenario.silence != nil {
      if let report = reports.first { capture = "there is a report of \(report.signal.name) but none is expected" }
      return
    }
    if scenario.isSilentDeath {
      let kinds = reports.map { "\($0.kind?.rawValue ?? "crash") \($0.signal.name)" }
      if kinds != ["silent \(scenario.reportedSignal)"] { capture = "reports: \(kinds)" }
      isReported = capture == nil
      if isReported { reason = try Expectation(scenario, isOptimized: isOptimized).complaint(aboutDeath: reports[0]) }
      return
    }
    guard let report = reports.first, reports.count == 1, let thread = report.crashedThread else {
      capture = "\(reports.count) reports"
      return
    }
    isReported = true
    let crashedCount = report.threads.filter(\.crashed).count
    if report.signal.name != scenario.reportedSignal {
      capture = "\(report.signal.name) is reported, not \(scenario.reportedSignal)"
    } else if crashedCount != scenario.crashedCount {
      capture = "\(crashedCount) crashed threads, not \(scenario.crashedCount)"
    } else if thread.tid != report.threads[0].tid || thread.signal != report.signal {
      capture = "the report is not about the thread that crashed first"
    }
    let words = (isOptimized ? scenario.optimizedReason : nil) ?? scenario.reason
    var expectation = try Expectation(scenario, isOptimized: isOptimized)
    expectation.mayLoseThreads = mayLoseThreads
    expectation.causes.formUnion(moreCauses.map(CrashReport.Cause.init(rawValue:)))
    reason =
      report.reason.contains(words)
      ? expectation.complaint(about: report)
      : "'\(report.reason)' does not contain '\(words)'"
    frames = try report.threads.filter(\.crashed).lazy.compactMap { try Self.checkFrames($0, scenario) }.first
  }

  private static func checkFrames(_ thread: CrashReport.CrashedThread, _ scenario: Scenario) throws -> String? {
    if scenario.function.isEmpty { return nil }
    guard let top = thread.topOwnFrame, top.function.contains(scenario.function) else {
      return "'\(scenario.function)' is not on top of\n\(thread.listing)"
    }
    let mark = scenario.mark.isEmpty ? nil : try SourceMark.find(scenario.mark)
    let place = "\(top.file?.split(separator: "/").last ?? ""):\(top.line ?? 0)"
    if let mark, place != mark.description { return "\(mark) is not on top of\n\(thread.listing)" }
    var callers = thread.frames.filter(\.isAsync)[...]
    for caller in scenario.asyncCallers {
      callers = callers.drop { !$0.function.contains(caller) }
      if callers.isEmpty { return "\(caller) is not among the async callers, in order, of\n\(thread.listing)" }
    }
    return nil
  }
}

extension Scenario {
  /// Returns the scenarios that this machine can run in a build with these properties.
  ///
  /// Leaves out the many similar scenarios (`isOfMany`), which other tests run.
  static func runnable(isOptimized: Bool, isStatic: Bool) -> [Scenario] {
    all.filter { $0.obstacle == nil && !$0.isOfMany && $0.isPossible(isOptimized: isOptimized, isStatic: isStatic) }
  }

  /// The scenarios that the programs under test can run.
  static var runnable: [Scenario] {
    runnable(isOptimized: Binaries.areInstalled, isStatic: Binaries.areInstalled)
  }

  /// Whether a build with these properties can run the scenario.
  func isPossible(isOptimized: Bool, isStatic: Bool) -> Bool {
    !(needsDebug && isOptimized) && !(needsDynamicLibrary && isStatic)
  }

  /// The reason why the scenario cannot run on this machine.
  ///
  /// Returns nil if the scenario can run.
  var obstacle: String? {
    if architecture != .current, let reason = MatrixEmulation.obstacles[name] { return reason }
    if needsMemoryLimit { return "needs a temporary control group; SilentDeathTests runs this scenario" }
    return needsRoot && geteuid() != 0 ? "needs root" : nil
  }

  /// Whether the report's frames must equal gdb's frames.
  var isComparable: Bool {
    if architecture != .current && MatrixEmulation.withoutDebugger[name] != nil { return false }
    return isReported && withoutDebugger == nil && gap?.threads.contains(threads[0]) != true
  }

  /// Whether the scenario's reports on this kind of thread are known to lack something.
  func hasGap(on thread: CrashRun.Thread) -> Bool { gap?.threads.contains(thread) == true }

  /// Kills the child process of a scenario that leaves one behind on purpose.
  func endChild(of crash: Crasher.Outcome) {
    if !isChildReported, let child = crash.child { kill(child, SIGKILL) }
  }

  /// Describes how the end of the run differs from the expected one.
  ///
  /// Returns nil if the run ended as expected.
  func complaint(about crash: Crasher.Outcome) throws -> String? {
    let isRight =
      signal.isEmpty ? crash.status.code == exitCode : crash.status.signal == (try Crasher.signalNumber(signal))
    if !isRight { return "\(crash.status): \(crash.error)" }
    return crash.error.contains(output) ? nil : "standard error lacks '\(output)': \(crash.error)"
  }
}
