import Foundation
import TestKit

/// Runs crash-fetch, and programs that its tests need.
enum Fetch {
  /// So long that only a failing test meets the end.
  static let patience_ms = 300_000

  /// Asks servers for the build.
  static func run(
    _ buildID: String = "abcd", limitBytes: Int = 1 << 20, timeout_ms: Int = patience_ms, from urls: [String]
  ) async throws -> TestProgram.Answer {
    try await run(
      TestProgram.url("crash-fetch"),
      ["--build-id", buildID, "--limit-bytes", "\(limitBytes)", "--timeout-ms", "\(timeout_ms)"] + urls)
  }

  /// Runs a program to its end, on a thread that it may block.
  static func run(_ program: URL, _ arguments: [String]) async throws -> TestProgram.Answer {
    // With the options of a sanitizer, if these tests run under one: what confines itself cannot look for leaks.
    try await TestProgram.onThread { try TestProgram.run(program, arguments) }
  }
}

/// A folder that is removed with its last reference.
final class Folder: Sendable {
  let url: URL

  init() throws {
    url = FileManager.default.temporaryDirectory.appendingPathComponent("fetch-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: false)
  }

  deinit { try? FileManager.default.removeItem(at: url) }
}
