import CrashReport
import FoundationEssentials
import Glibc
import TestKit
import Testing

/// Runs crashctl on logs with record lines.
enum RecordLog {
  /// The result of a run of crashctl.
  struct Outcome {
    var status: ExitStatus
    var output: String
    var error: String
  }

  /// Returns the reports that `crashctl decode` prints for a log.
  static func decode(_ log: String, _ options: [String] = []) async throws -> [CrashReport] {
    let outcome = try await run(["decode", "-", "--json=short"] + options, log)
    try #require(outcome.status.code == 0, "crashctl decode: \(outcome.status): \(outcome.error)")
    return try outcome.output.split(separator: "\n").map {
      try JSONDecoder().decode(CrashReport.self, from: Data($0.utf8))
    }
  }

  /// Runs crashctl with a log as its standard input.
  static func run(_ arguments: [String], _ log: String, environment: [String: String] = [:]) async throws -> Outcome {
    let place = try TestDirectory()
    let (inputPath, outputPath, errorPath) = (place.path + "/log", place.path + "/output", place.path + "/error")
    try Data(log.utf8).write(to: URL(filePath: inputPath))
    let input = try FileDescriptor(unsafe open(inputPath, O_RDONLY | O_CLOEXEC), from: "open '\(inputPath)'")
    let output = try FileDescriptor(
      unsafe open(outputPath, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600), from: "open '\(outputPath)'")
    let process = try ChildProcess.start(
      Binaries.path("crashctl"), arguments,
      ChildProcess.Options(
        environment: environment, directory: place.path, input: input.number, output: output.number,
        errorPath: errorPath))
    let status = try await process.wait(slices: 600)
    return try Outcome(status: status, output: contents(of: outputPath), error: contents(of: errorPath))
  }
}
