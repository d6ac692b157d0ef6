import Dispatch
import Foundation

/// Runs casts-host, which is built beside the tests.
enum CastsHost {
  static let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    .appendingPathComponent("casts-host")

  struct Answer {
    /// The exit status, or the signal's number below 0.
    var status: Int32
    var output: String
    var error: String

    var lines: [Substring] { output.split(separator: "\n") }
    /// Words of each record.
    var records: [[Substring]] {
      lines.filter { $0.hasPrefix("record ") }.map { $0.split(separator: " ").dropFirst().map(\.self) }
    }
  }

  /// Runs it to its end, on a thread that it may block; `mode` is that of the environment.
  static func run(_ arguments: String..., mode: String? = nil) async throws -> Answer {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue(label: "casts-host").async {
        continuation.resume(with: Result { try runHere(program, arguments, mode) })
      }
    }
  }

  static func runHere(_ program: URL, _ arguments: [String], _ mode: String? = nil) throws -> Answer {
    let process = Process()
    // Without a core, should one be wanted here.
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", #"ulimit -c 0; exec "$0" "$@""#, program.path] + arguments
    process.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
    process.environment?["CRASHSHIELD_IMPLICIT"] = mode
    process.standardInput = FileHandle.nullDevice
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("casts-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    // Files: no pipe can fill up.
    let (output, error) = (folder.appendingPathComponent("output"), folder.appendingPathComponent("error"))
    for file in [output, error] { try Data().write(to: file) }
    process.standardOutput = try FileHandle(forWritingTo: output)
    process.standardError = try FileHandle(forWritingTo: error)
    try process.run()
    process.waitUntilExit()
    return Answer(
      status: process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus,
      output: try String(contentsOf: output, encoding: .utf8), error: try String(contentsOf: error, encoding: .utf8))
  }
}
