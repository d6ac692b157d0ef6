import Foundation
import TestKit
import Testing

/// Tests the example `screens`, which starts screen transitions during others, with and without the transition queue.
@Suite
struct ScreensProgramTests {
  @Test("without the transition queue two simultaneous pushes and a pop end the program")
  func without() throws {
    let (process, output, errors) = try run("--without", "pp.b")
    #expect(process.terminationReason == .uncaughtSignal && process.terminationStatus == trapSignal)
    #expect(errors.contains("Can't add self as subview"))
    // The window shows another screen than the top of the stack.
    #expect(output.contains { $0.hasPrefix("all is still home > 1 > 2 shown: 1") })
  }

  @Test("with the transition queue the same taps lead to the right screen")
  func with() throws {
    let (process, output, errors) = try run("pp.b.b.")
    #expect(process.terminationReason == .exit && process.terminationStatus == 0, "\(errors)")
    #expect(
      output == [
        "push 1 begun home > 1 shown: home, sliding", "push 2 waits home > 1 shown: home, sliding",
        "all is still home > 1 > 2 shown: 2", "back begun home > 1 shown: 2, sliding",
        "all is still home > 1 shown: 1", "back begun home shown: 1, sliding", "all is still home shown: home",
        "with the queue: survived",
      ])
  }

  @Test("taps in one input line arrive at the same time, and impossible transitions are printed and recorded")
  func lines() throws {
    let (process, output, errors) = try run(input: "b\np.\nhbp.\nq\n")
    #expect(process.terminationReason == .exit && process.terminationStatus == 0, "\(errors)")
    #expect(output.contains("recorded: transition, a transition of Screen dropped: atRoot"))
    #expect(output.contains("back does not happen: atRoot home shown: home"))
    #expect(output.suffix(2) == ["all is still home > 2 shown: 2", "with the queue: survived"])
  }

  /// Runs the example without crashd.
  ///
  /// Returns how the process ended, the lines of its output without column padding, and its error output.
  private func run(_ arguments: String..., input: String = "") throws -> (Process, [String], String) {
    let folder = FileManager.default.temporaryDirectory.appending(path: "screens-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
    let files = try ["input", "output", "errors"].map { name in
      let file = folder.appending(path: name)
      try Data((name == "input" ? input : "").utf8).write(to: file)
      return try name == "input" ? FileHandle(forReadingFrom: file) : FileHandle(forWritingTo: file)
    }
    let process = Process()
    // The crash is on purpose, and leaves no core file.
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = ["-c", "ulimit -c 0; exec \"$@\"", "sh", TestProgram.url("screens").path] + arguments
    process.environment = [
      "CRASHSHIELD_SOCKET": folder.appending(path: "attach").path,
      "CRASHSHIELD_SPOOL": folder.appending(path: "spool").path, "SWIFT_BACKTRACE": "enable=no",
      "ASAN_OPTIONS": "handle_sigill=0:detect_leaks=0", "TSAN_OPTIONS": "handle_sigill=0",
    ]
    process.standardInput = files[0]
    process.standardOutput = files[1]
    process.standardError = files[2]
    try process.run()
    process.waitUntilExit()
    let lines = try String(contentsOf: folder.appending(path: "output"), encoding: .utf8).split(separator: "\n")
    let errors = try String(contentsOf: folder.appending(path: "errors"), encoding: .utf8)
    return (process, lines.map { $0.split(separator: " ").joined(separator: " ") }, errors)
  }
}
