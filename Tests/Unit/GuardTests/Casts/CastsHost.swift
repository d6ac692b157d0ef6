import Foundation
import TestKit

/// Runs casts-host, which is in the directory of the tests.
enum CastsHost {
  static let program = TestProgram.url("casts-host")

  struct Answer: Sendable {
    /// The exit status, or the negative number of the signal that ended the process.
    var status: Int32
    var output: String
    var error: String

    var lines: [Substring] { output.split(separator: "\n") }
    /// The words of each line of output that describes an incident record.
    var records: [[Substring]] {
      lines.filter { $0.hasPrefix("record ") }.map { $0.split(separator: " ").dropFirst().map(\.self) }
    }
  }

  /// Runs casts-host until it exits, on a separate thread, because the call blocks.
  ///
  /// `mode` is the mode that the environment selects.
  static func run(_ arguments: String..., mode: String? = nil) async throws -> Answer {
    try await TestProgram.onThread { try runHere(program, arguments, mode) }
  }

  static func runHere(_ program: URL, _ arguments: [String], _ mode: String? = nil) throws -> Answer {
    var environment = TestProgram.environment
    environment["CRASHSHIELD_IMPLICIT"] = mode
    let answer = try TestProgram.run(program, arguments, environment: environment, leavesCore: false)
    return Answer(status: answer.status, output: answer.text, error: answer.error)
  }
}
