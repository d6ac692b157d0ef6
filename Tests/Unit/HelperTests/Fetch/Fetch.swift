import Foundation
import TestKit

/// Runs crash-fetch, and the other programs that its tests need.
enum Fetch {
  /// The time limit of a test.
  ///
  /// It is so long that only a failing test reaches it.
  static let patience_ms = 300_000

  /// Requests the debug file of this build ID from the servers.
  static func run(
    _ buildID: String = "abcd", limitBytes: Int = 1 << 20, timeout_ms: Int = patience_ms, from urls: [String]
  ) async throws -> TestProgram.Answer {
    try await run(
      TestProgram.url("crash-fetch"),
      ["--build-id", buildID, "--limit-bytes", "\(limitBytes)", "--timeout-ms", "\(timeout_ms)"] + urls)
  }

  /// Runs a program until it exits, on a separate thread, because the call blocks.
  static func run(_ program: URL, _ arguments: [String]) async throws -> TestProgram.Answer {
    // The program inherits the environment of the test. Under a sanitizer, this environment must disable the leak
    // check, because a sandboxed process cannot perform it.
    try await TestProgram.onThread { try TestProgram.run(program, arguments) }
  }
}

/// A directory that is removed when the last reference to this object is released.
final class Folder: Sendable {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("fetch-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
  }

  deinit { try? FileManager.default.removeItem(at: url) }
}
