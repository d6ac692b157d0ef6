import Foundation
import Testing

/// Runs executor-host, and reads what it says.
struct Host: Sendable {
  static let program = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    .appendingPathComponent("executor-host")

  /// A fault as the process knows it.
  struct Record: Sendable {
    var kind: String
    var mode: String
    var count: Int
    var reason: String
    /// Addresses of calls in the program, innermost first.
    var frames: [String]
  }

  /// The exit status, or the signal's number below 0.
  var status: Int32
  var lines: [String]
  var error: String

  /// Runs it to its end; `variables` go before those of this process.
  init(_ arguments: String..., variables: [String: String] = [:]) async throws {
    self = try await withCheckedThrowingContinuation { continuation in
      // A thread that may wait.
      Thread.detachNewThread {
        continuation.resume(with: Result { try Host(arguments, variables) })
      }
    }
  }

  private init(_ arguments: [String], _ variables: [String: String]) throws {
    let process = Process()
    // A crash on purpose leaves no core.
    process.executableURL = URL(fileURLWithPath: "/bin/sh")
    process.arguments = ["-c", "ulimit -c 0; exec \"$0\" \"$@\"", Self.program.path] + arguments
    process.environment = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no"]) { $1 }
      .merging(variables) { $1 }
    process.standardInput = FileHandle.nullDevice
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("isolation-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(at: folder) }
    // Files: no pipe can fill up.
    let files = ["output", "error"].map { folder.appendingPathComponent($0) }
    for file in files { try Data().write(to: file) }
    process.standardOutput = try FileHandle(forWritingTo: files[0])
    process.standardError = try FileHandle(forWritingTo: files[1])
    try process.run()
    process.waitUntilExit()
    status = process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
    lines = try String(contentsOf: files[0], encoding: .utf8).split(separator: "\n").map(String.init)
    error = try String(contentsOf: files[1], encoding: .utf8)
  }

  /// What the process knew at its end.
  var records: [Record] {
    lines.filter { $0.hasPrefix("record ") }.map { line in
      let sides = line.components(separatedBy: " | ")
      let words = sides[0].split(separator: " ").map(String.init)
      return Record(
        kind: words[1], mode: words[2], count: Int(words[3]) ?? 0, reason: sides.last ?? "",
        frames: Array(words.dropFirst(4)))
    }
  }

  /// What it was told of at once, as "isolation observe 1".
  var met: [String] { lines.filter { $0.hasPrefix("met ") }.map { String($0.dropFirst(4)) } }
}

extension Host.Record {
  /// The first line of the file with the faults that the frames lead to.
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
