import CrashMaker
import CrashReport
import Glibc
import TestKit

/// The rows of the matrix in which the test changes the program's file, before or after the program starts.
enum MatrixBinary: String, CaseIterable {
  case replaced = "binary-replaced-after-start"
  case deleted = "binary-deleted"
  case debugLink = "stripped-with-debuglink"
  case noDebugInformation = "no-debug-info"

  private static let crash = "array-index"
  private static let scenario = Scenario.all(on: MatrixBuild.architecture).first { $0.name == crash }

  func label(in build: MatrixBuild) -> String { MatrixCell(row: rawValue, build: build.name, thread: .main).label }

  /// Crashes a copy of the build's program.
  ///
  /// Changes the file of this copy as the case says.
  func run(in build: MatrixBuild, under daemon: PrivateDaemon) async throws -> MatrixCell {
    var cell = MatrixCell(row: rawValue, build: build.name, thread: .main, gap: nil)
    let directory = try TestDirectory()
    let program = directory.path + "/shop"
    try await tool("cp", [build.program, program])
    switch self {
    case .replaced, .deleted: break
    case .debugLink:
      try await tool("objcopy", ["--only-keep-debug", program, program + ".debug"])
      try await tool("strip", [program])
      try await tool("objcopy", ["--add-gnu-debuglink=" + program + ".debug", program])
    case .noDebugInformation:
      try await tool("strip", ["--strip-debug", program])
    }
    let reports: [CrashReport]
    switch self {
    case .replaced, .deleted:
      reports = try await crash(program, in: directory, under: daemon, &cell)
    case .debugLink, .noDebugInformation:
      // The daemon of the matrix has read the unchanged program, which has the same build ID, and would use its cached
      // symbols. A fresh daemon has no symbols for this build ID.
      let fresh = try await PrivateDaemon.start()
      reports = try await crash(program, in: directory, under: fresh, &cell)
      try await fresh.stop()
    }
    guard var scenario = Self.scenario else { throw SystemError("no scenario '\(Self.crash)'", EINVAL) }
    if self == .noDebugInformation {
      // Without debug information, the report has no lines and no inlined frames, but still the function's name.
      scenario.mark = ""
      scenario.optimizedReason = ""
    }
    // In an optimized build, only the debug information contains the message of a check, as the name of an inlined
    // function.
    let more: Set = self == .noDebugInformation && build.isOptimized ? ["trap"] : []
    let findings = try Findings(reports, of: scenario, isOptimized: build.isOptimized, moreCauses: more)
    cell.results[.captured] = .some(findings.capture)
    if findings.isReported {
      cell.results[.frames] = .some(findings.frames)
      cell.results[.reason] = .some(findings.reason)
    }
    return cell
  }

  private func crash(
    _ program: String, in directory: TestDirectory, under daemon: PrivateDaemon, _ cell: inout MatrixCell
  ) async throws -> [CrashReport] {
    let (ours, theirs) = try FileDescriptor.pair()
    let process = try ChildProcess.start(
      program, [Self.crash, "--wait-attached", "--wait-input"],
      ChildProcess.Options(
        environment: daemon.place.environment, directory: directory.path, input: theirs.number, output: theirs.number))
    let line = try await blocking { try ours.readLine() }
    if line != "attached" { throw SystemError("\(rawValue): crash-maker said '\(line)'", 0) }
    switch self {
    case .replaced:
      try await tool("cp", ["/bin/true", program + ".new"])
      try await tool("mv", [program + ".new", program])
    case .deleted: try await tool("rm", [program])
    case .debugLink, .noDebugInformation: break
    }
    guard unsafe write(ours.number, "\n", 1) == 1 else { throw SystemError("write", errno) }
    let status = try await process.wait(slices: MatrixCell.outerSlices)
    let expected = try Self.scenario.map { try Crasher.signalNumber($0.signal) }
    cell.results[.sameExit] = .some(status.signal == expected ? nil : "\(status)")
    return try await daemon.reports(of: process.pid)
  }

  private func tool(_ name: String, _ arguments: [String]) async throws {
    // Debian's binutils have a separate program for each architecture.
    let isForeign = MatrixEmulation.isUsed && ["objcopy", "strip"].contains(name)
    let prefix = isForeign ? "\(MatrixBuild.architecture.rawValue)-linux-gnu-" : ""
    let status = try await ChildProcess.start("/usr/bin/" + prefix + name, arguments).wait()
    if status.code != 0 { throw SystemError("\(name) \(arguments): \(status)", 0) }
  }
}
