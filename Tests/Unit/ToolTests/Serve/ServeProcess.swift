import Foundation
import Testing

/// A running `crashctl serve`.
///
/// In most tests, its program is `Tests/Kit/Support/held_server.py`.
final class ServeProcess {
  let pid: pid_t
  private let process = Process()
  private let output = Pipe()
  private let complaint = Pipe()
  /// The lines of standard error that the test has read.
  private(set) var complaints: [String] = []
  private let watchdog: DispatchWorkItem

  /// The command that runs `held_server.py` with these arguments.
  static func server(_ words: String...) -> [String] { [python, script] + words }

  private static let python = ProcessInfo.processInfo.environment["TEST_PYTHON"] ?? "python3"
  private static let script = URL(filePath: #filePath).appending(path: "../../../../Kit/Support/held_server.py")
    .standardizedFileURL.path

  /// A shell runs `preparation`, and then executes `crashctl serve` in the same process.
  init(
    _ program: [String], options: [String] = [], listen: [String] = ["127.0.0.1:0"], preparation: String = ""
  ) throws {
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments =
      ["-c", "\(preparation)\nexec \"$0\" \"$@\"", try CommandLineTests.product("crashctl"), "serve"]
      + listen.flatMap { ["--listen", $0] } + options + ["--"] + program
    process.environment = ["PATH": "/usr/bin:/bin", "SWIFT_BACKTRACE": "enable=no"]
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = output
    process.standardError = complaint
    try CommandLineTests.runUnblocked(process)
    let pid = process.processIdentifier
    self.pid = pid
    // After 300 seconds, the test kills a crashctl that hangs. This closes its pipes, so the test fails.
    watchdog = DispatchWorkItem { kill(pid, SIGKILL) }
    DispatchQueue.global().asyncAfter(deadline: .now() + 300, execute: watchdog)
  }

  /// Reads standard error up to a line that contains the text.
  ///
  /// Returns this line.
  @discardableResult
  func complaint(containing text: String) throws -> String {
    while let line = Self.line(of: complaint) {
      complaints.append(line)
      if line.contains(text) { return line }
    }
    throw Missing(text: text, lines: complaints)
  }

  /// Reads standard output up to a line that begins with the text.
  ///
  /// Returns the other words of this line.
  func output(beginningWith text: String) throws -> [String] {
    while let line = Self.line(of: output) {
      if line.hasPrefix(text) { return line.dropFirst(text.count).split(separator: " ").map(String.init) }
    }
    throw Missing(text: text, lines: complaints)
  }

  /// Returns the port of the first socket, which the kernel chose.
  func port() throws -> String {
    let line = try complaint(containing: "listening on ")
    return String(try #require(line.split(separator: ":").last))
  }

  /// Waits until the process ends.
  ///
  /// Returns the exit status, or the negative number of the signal.
  func end() -> Int32 {
    while let line = Self.line(of: complaint) { complaints.append(line) }
    process.waitUntilExit()
    watchdog.cancel()
    return process.terminationReason == .uncaughtSignal ? -process.terminationStatus : process.terminationStatus
  }

  struct Missing: Error {
    var text: String
    var lines: [String]
  }

  private static func line(of pipe: Pipe) -> String? {
    var line = Data()
    while let byte = try? pipe.fileHandleForReading.read(upToCount: 1), let first = byte.first {
      if first == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
      line.append(first)
    }
    return nil
  }
}
