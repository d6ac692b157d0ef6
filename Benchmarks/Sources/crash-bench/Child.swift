import Foundation

/// The result of a program that has ended.
struct Child {
  var pid: Int32
  var output: String
  /// The output that the program wrote to stderr.
  var errors: String
  /// The time at which stderr was closed.
  ///
  /// At this time the program had printed all of its output.
  var errorsEnd_ns: UInt64
  var elapsed_ns: UInt64

  /// Runs `path` with exactly `environment`, and collects both streams.
  ///
  /// Calls `atEnd` when both streams are closed, because Foundation detects the end of the process up to 50 ms later.
  static func run(
    _ path: String, _ arguments: [String], environment: [String: String], atEnd: (Int32) throws -> Void = { _ in }
  ) throws -> Child {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: path)
    process.arguments = arguments
    process.environment = environment
    let output = Pipe()
    let errors = Pipe()
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = errors
    let start = monotonicNow_ns()
    try process.run()
    let errorBytes = try errors.fileHandleForReading.readToEnd() ?? Data()
    let end = monotonicNow_ns()
    let outputBytes = try output.fileHandleForReading.readToEnd() ?? Data()
    let outcome = Result { try atEnd(process.processIdentifier) }
    process.waitUntilExit()
    try outcome.get()
    return Child(
      pid: process.processIdentifier, output: String(decoding: outputBytes, as: UTF8.self),
      errors: String(decoding: errorBytes, as: UTF8.self), errorsEnd_ns: end, elapsed_ns: monotonicNow_ns() - start)
  }
}
