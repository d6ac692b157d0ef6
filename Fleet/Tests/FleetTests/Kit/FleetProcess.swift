import FleetStore
import Foundation
import Synchronization

/// A running `crash-fleet serve`, which has its own database.
final class FleetProcess: Sendable {
  let test: TestStore
  let token: String
  let port: Int
  private let process: Mutex<Process>

  struct Problem: Error { var text: String }

  init(_ settings: [String: String] = [:]) async throws {
    test = try await TestStore(connections: 2)
    token = try await test.store.addToken(tenant: "shop", name: "hosts").text
    let errors = Pipe()
    let process = Self.command(
      ["serve"], on: test.connection, settings: ["CRASH_FLEET_LISTEN_PORT": "0"].merging(settings) { $1 })
    process.standardError = errors
    try process.run()
    self.process = Mutex(process)
    var text = ""
    while !text.contains("listening on"), let more = Self.read(errors), !more.isEmpty { text += more }
    guard let line = text.split(whereSeparator: \.isNewline).first(where: { $0.contains("listening on") }),
      let port = line.split(separator: ":").last.flatMap({ Int($0) })
    else { throw Problem(text: "crash-fleet does not listen: \(text)") }
    self.port = port
  }

  deinit { process.withLock { _ = kill($0.processIdentifier, SIGKILL) } }

  /// The program in the directory of the tests.
  static let program: String = {
    let directory = URL(fileURLWithPath: ProcessInfo.processInfo.arguments[0]).deletingLastPathComponent()
    return ProcessInfo.processInfo.environment["CRASH_FLEET"] ?? directory.appendingPathComponent("crash-fleet").path
  }()

  /// Returns a command of crash-fleet that has not started, without settings of this machine.
  static func command(
    _ arguments: [String], on connection: String? = nil, settings: [String: String] = [:]
  ) -> Process {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: program)
    process.arguments = arguments + ["--config", "/dev/null"]
    process.environment = settings
    process.environment?["CRASH_FLEET_DATABASE_CONNECTION"] = connection
    return process
  }

  /// Runs a command to its end, and returns its status, and its output with its errors.
  static func run(
    _ arguments: [String], on connection: String? = nil, settings: [String: String] = [:]
  ) throws -> (status: Int32, output: String) {
    let (process, output) = (command(arguments, on: connection, settings: settings), Pipe())
    (process.standardOutput, process.standardError) = (output, output)
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return (process.terminationStatus, text)
  }

  private static func read(_ pipe: Pipe) -> String? {
    let data = pipe.fileHandleForReading.availableData
    return data.isEmpty ? nil : String(decoding: data, as: UTF8.self)
  }

  func post(_ body: String, token: String? = nil, headers: [String] = []) throws -> TestClient.Answer {
    try TestClient(port: port).request(token: token ?? self.token, body: Array(body.utf8), headers: headers)
  }

  /// The maximum of the resident memory so far, in bytes.
  func peakBytes() throws -> Int {
    let pid = process.withLock { $0.processIdentifier }
    let text = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
    let line = text.split(whereSeparator: \.isNewline).first { $0.hasPrefix("VmHWM:") }
    guard let peak = line.flatMap({ Int($0.dropFirst(6).filter(\.isNumber)) }) else {
      throw Problem(text: "crash-fleet has ended")
    }
    return peak << 10
  }
}
