import Foundation
import TestKit
import Testing

/// Tests crash-fetch with Debian's own debuginfod server, which the debuginfod clients of elfutils and gdb also use.
@Suite("A real debuginfod")
struct DebuginfodTests {
  @Test("a real debuginfod serves a stripped program's debug information to crash-fetch")
  func serves() async throws {
    let folder = try Folder()
    let program = TestProgram.url("confine-probe")
    let debug = folder.url.appendingPathComponent("confine-probe.debug")
    let objcopy = try await Fetch.run(
      URL(fileURLWithPath: "/usr/bin/objcopy"), ["--only-keep-debug", program.path, debug.path])
    try #require(objcopy.status == 0, "\(objcopy.error)")
    let buildID = try await buildID(of: program)
    let server = try Debuginfod(over: folder.url)
    defer { server.stop() }
    // Retries while debuginfod cannot be reached, and while it answers 404, which it does until it has indexed its
    // files.
    var answer = try await Fetch.run(buildID, limitBytes: 64 << 20, from: [server.url])
    while [66, 69].contains(answer.status), server.isRunning {
      answer = try await Fetch.run(buildID, limitBytes: 64 << 20, from: [server.url])
    }
    let log = try server.log
    #expect(answer.status == 0, "\(answer.error) \(log)")
    #expect(answer.output == (try Data(contentsOf: debug)))
    #expect(try await Fetch.run("00ff", from: [server.url]).status == 66)
  }

  private func buildID(of program: URL) async throws -> String {
    let notes = try await Fetch.run(URL(fileURLWithPath: "/usr/bin/readelf"), ["-n", program.path])
    let text = String(decoding: notes.output, as: UTF8.self)
    let line = try #require(text.split(separator: "\n").first { $0.contains("Build ID:") }, "\(text)")
    return try #require(line.split(separator: " ").last.map(String.init))
  }
}

/// A debuginfod process that belongs to one test.
///
/// The port was free just before the start of debuginfod. Another process can take it before debuginfod does.
private final class Debuginfod: Sendable {
  private let process: Process
  private let port: UInt16
  private let errorFile: URL
  private let files: Folder

  init(over folder: URL) throws {
    files = try Folder()
    errorFile = files.url.appendingPathComponent("error")
    try Data().write(to: errorFile)
    port = try Server.freePort()
    process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/debuginfod")
    process.arguments = ["-F", "-p", "\(port)", "-d", ":memory:", folder.path]
    process.environment = ["HOME": files.url.path]
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = FileHandle.nullDevice
    process.standardError = try FileHandle(forWritingTo: errorFile)
    try process.run()
  }

  var url: String { "http://127.0.0.1:\(port)" }
  var isRunning: Bool { process.isRunning }
  var log: String { get throws { try String(contentsOf: errorFile, encoding: .utf8) } }

  func stop() {
    // Sends SIGKILL, because after SIGTERM debuginfod can wait for its next scan. debuginfod has no data to save, so no
    // data is lost.
    kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
  }
}
