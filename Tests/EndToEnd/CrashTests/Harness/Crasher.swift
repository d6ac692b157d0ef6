import CrashMaker
import CrashReport
import Glibc
import TestKit
import Testing

/// Runs crash-maker.
enum Crasher {
  /// The result of a run of crash-maker.
  struct Outcome {
    var pid: pid_t
    /// The pid of the child process that crash-maker has started and printed, if the scenario starts one.
    var child: pid_t?
    var status: ExitStatus
    /// The time from the start of the process until it ended, without stalls of the machine.
    var duration: Duration
    /// The text that the process wrote to standard error.
    var error: String
  }

  /// Runs crash-maker with a scenario and waits until the process has ended.
  static func run(
    _ scenario: String, _ options: [String] = [], environment: [String: String], program: String? = nil,
    coreLimit: ChildProcess.CoreLimit = .none, slices: Int = Patience.slices
  ) async throws -> Outcome {
    let directory = try TestDirectory()
    let errorPath = directory.path + "/stderr"
    let outputPath = directory.path + "/stdout"
    let output = try FileDescriptor(
      unsafe open(outputPath, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600), from: "open '\(outputPath)'")
    let start = Stopwatch.now
    let child = try ChildProcess.start(
      program ?? Binaries.path("crash-maker"), [scenario] + options,
      ChildProcess.Options(
        environment: environment, directory: directory.path, coreLimit: coreLimit, output: output.number,
        errorPath: errorPath))
    let status = try await child.wait(slices: slices)
    let told = try contents(of: outputPath).split(separator: "\n").first { $0.hasPrefix("child ") }
    return Outcome(
      pid: child.pid, child: told.flatMap { pid_t($0.dropFirst(6)) }, status: status,
      duration: Stopwatch.now - start, error: try contents(of: errorPath))
  }

  /// The number of the signal that ends a scenario's process.
  static func signalNumber(_ name: String) throws -> Int32 {
    let numbers = [
      "SIGILL": SIGILL, "SIGTRAP": SIGTRAP, "SIGABRT": SIGABRT, "SIGBUS": SIGBUS, "SIGFPE": SIGFPE,
      "SIGSEGV": SIGSEGV, "SIGSYS": SIGSYS, "SIGKILL": SIGKILL,
    ]
    return try #require(numbers[name], "no scenario ends with '\(name)'")
  }
}

extension Crasher.Outcome {
  /// Returns the pid of the process whose report the scenario expects.
  func reportedPid(of scenario: Scenario) throws -> pid_t {
    scenario.isChildReported ? try #require(child, "\(scenario.name) named no child: \(status): \(error)") : pid
  }
}

extension CrashReport {
  /// The thread that crashed first.
  var crashedThread: CrashedThread? { threads.first { $0.crashed } }
}

extension CrashReport.CrashedThread {
  /// The innermost in-app frame that has a function name.
  ///
  /// Skips a frame in the program's data, the target of a wild jump, because it has no function name.
  var topOwnFrame: CrashReport.Frame? { frames.first { $0.isOwn && !$0.function.isEmpty } }

  /// The frames on the stack, without inlined frames and async callers.
  var stackFrames: [CrashReport.Frame] { frames.filter { !$0.isInline && !$0.isAsync } }

  /// The texts of the frames, for the message of a failed expectation.
  var listing: String {
    frames.map { frame in
      let place = frame.file.map { " at \($0):\(frame.line ?? 0)" } ?? ""
      let marks = (frame.isOwn ? " own" : "") + (frame.isInline ? " inline" : "") + (frame.isAsync ? " async" : "")
      return "\(frame.address) \(frame.function)\(place) [\(frame.trust.rawValue)\(marks)]"
    }.joined(separator: "\n")
  }
}
