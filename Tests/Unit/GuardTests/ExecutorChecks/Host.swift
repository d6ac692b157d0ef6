import Foundation
import TestKit
import Testing

/// Runs executor-host, and parses its output.
struct Host: Sendable {
  static let program = TestProgram.url("executor-host")

  /// An incident record that the process printed.
  struct Record: Sendable {
    var kind: String
    var mode: String
    var count: Int
    var reason: String
    /// The call addresses in the record's stack, as offsets in the program's file, innermost first.
    var frames: [String]
  }

  /// The exit status, or the negative number of the signal that ended the process.
  var status: Int32
  var lines: [String]
  var error: String

  /// Runs executor-host until it exits.
  ///
  /// `variables` override the environment of this process.
  init(_ arguments: String..., variables: [String: String] = [:]) async throws {
    self = try await TestProgram.onThread { try Host(arguments, variables) }
  }

  private init(_ arguments: [String], _ variables: [String: String]) throws {
    let answer = try TestProgram.run(
      Self.program, arguments, environment: TestProgram.environment.merging(variables) { $1 }, leavesCore: false)
    status = answer.status
    lines = answer.text.split(separator: "\n").map(String.init)
    error = answer.error
  }

  /// The records that the process printed at its end.
  var records: [Record] {
    lines.filter { $0.hasPrefix("record ") }.map { line in
      let sides = line.components(separatedBy: " | ")
      let words = sides[0].split(separator: " ").map(String.init)
      return Record(
        kind: words[1], mode: words[2], count: Int(words[3]) ?? 0, reason: sides.last ?? "",
        frames: Array(words.dropFirst(4)))
    }
  }

  /// The incidents that the process printed in its incident handler, at the fault, such as "isolation observe 1".
  var met: [String] { lines.filter { $0.hasPrefix("met ") }.map { String($0.dropFirst(4)) } }
}

extension Host.Record {
  /// The line of the first frame that is in the source file of the faults.
  func line() async throws -> Int? {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/addr2line")
    process.arguments = ["-i", "-e", Host.program.path] + frames
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    for place in text.split(separator: "\n") {
      guard let name = place.range(of: "ExecutorHost/Fault.swift:") else { continue }
      return Int(place[name.upperBound...].prefix { $0.isNumber })
    }
    return nil
  }
}
