import Dispatch
import Foundation

/// Runs crash-fetch, and programs that its tests need.
enum Fetch {
  static let products = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()

  struct Answer {
    /// The exit status, or the signal's number below 0.
    var status: Int32
    var output: Data
    var error: String
  }

  /// So long that only a failing test meets the end.
  static let patience_ms = 300_000

  /// Asks servers for the build.
  static func run(
    _ buildID: String = "abcd", limitBytes: Int = 1 << 20, timeout_ms: Int = patience_ms, from urls: [String]
  ) async throws -> Answer {
    try await run(
      products.appendingPathComponent("crash-fetch"),
      ["--build-id", buildID, "--limit-bytes", "\(limitBytes)", "--timeout-ms", "\(timeout_ms)"] + urls)
  }

  /// Runs a program to its end, on a thread that it may block.
  static func run(_ program: URL, _ arguments: [String]) async throws -> Answer {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue(label: "fetch").async {
        continuation.resume(with: Result { try runHere(program, arguments) })
      }
    }
  }

  /// With files for its two streams: no pipe can fill up.
  private static func runHere(_ program: URL, _ arguments: [String]) throws -> Answer {
    let folder = try Folder()
    let (output, error) = (folder.url.appendingPathComponent("output"), folder.url.appendingPathComponent("error"))
    for file in [output, error] { try Data().write(to: file) }
    let process = Process()
    process.executableURL = program
    process.arguments = arguments
    // With the options of a sanitizer, if these tests run under one: what confines itself cannot look for leaks.
    process.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = try FileHandle(forWritingTo: output)
    process.standardError = try FileHandle(forWritingTo: error)
    try process.run()
    process.waitUntilExit()
    return Answer(
      status: process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus,
      output: try Data(contentsOf: output), error: try String(contentsOf: error, encoding: .utf8))
  }
}

/// A folder that goes with the last reference.
final class Folder: Sendable {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("fetch-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
  }

  deinit { try? FileManager.default.removeItem(at: url) }
}
