import CrashProtocol
import Foundation
import Testing

@Suite("--version")
struct VersionTests {
  @Test(
    "each program prints its name, the version, and the commit if the build names it",
    arguments: ["crashd", "crashctl", "crash-forward"])
  func programs(program: String) throws {
    let process = Process()
    process.executableURL = URL(filePath: try CommandLineTests.product(program))
    process.arguments = ["--version"]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    let line = text.split(separator: "\n").map(String.init)
    let commit = line.first?.firstMatch(of: /\(([0-9a-f]{8})\)$/).map { String($0.output.1) } ?? ""
    #expect(line == [ProductVersion.line(of: program, commit: commit)])
  }

  @Test("a version line has the commit in parentheses, or no commit")
  func lines() {
    #expect(ProductVersion.line(of: "x", commit: "0123abcd") == "x \(ProductVersion.number) (0123abcd)")
    #expect(ProductVersion.line(of: "x", commit: "") == "x \(ProductVersion.number)")
  }
}
