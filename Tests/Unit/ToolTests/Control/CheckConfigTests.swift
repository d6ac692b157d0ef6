import Foundation
import Testing

/// Tests crashd's command line, and which source of a setting overrides the others.
@Suite("crashd --check-config")
struct CheckConfigTests {
  private func crashd(
    _ arguments: [String], environment: [String: String] = [:]
  ) throws -> (status: Int32, output: String, complaint: String) {
    let process = Process()
    process.executableURL = URL(filePath: try CommandLineTests.product("crashd"))
    process.arguments = ["--check-config"] + arguments
    process.environment = ["PATH": "/usr/bin:/bin"].merging(environment) { $1 }
    let (output, complaint) = (Pipe(), Pipe())
    (process.standardOutput, process.standardError) = (output, complaint)
    try process.run()
    // The test can read one output after the other, because both fit into the buffers of their pipes.
    let texts = [output, complaint].map {
      String(decoding: $0.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    }
    process.waitUntilExit()
    return (process.terminationStatus, texts[0], texts[1])
  }

  private func withFile(_ text: String, _ body: (String) throws -> Void) throws {
    let path = "/tmp/cs-config-\(UUID().uuidString.prefix(8)).yaml"
    try Data(text.utf8).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    try body(path)
  }

  @Test("options take precedence over the environment, and both over the file; --check-config prints the result")
  func order() throws {
    try withFile("log-level: debug\ndebuginfod-urls: [https://file.example.org]\nretention: {age: 5d}") { path in
      let file = try crashd(["--config", path])
      #expect(file.status == 0 && file.output.contains("log-level: debug\n"))
      #expect(file.output.contains("debuginfod-urls: ['https://file.example.org']\n"))
      #expect(file.output.contains("automatic-protection: false\n"))
      let variables = ["CRASHD_CONFIG": path, "CRASHD_LOG_LEVEL": "error", "CRASHD_DEBUGINFOD_URLS": ""]
      let environment = try crashd([], environment: variables)
      #expect(environment.output.contains("log-level: error\n") && environment.output.contains("retention.age: 5d\n"))
      #expect(environment.output.contains("debuginfod-urls: []\n"))
      let options = ["--log-level", "trace", "--debuginfod-urls", "http://a http://b", "--automatic-protection"]
      let all = try crashd(options, environment: variables)
      #expect(all.output.contains("log-level: trace\n") && all.output.contains("automatic-protection: true\n"))
      #expect(all.output.contains("debuginfod-urls: ['http://a', 'http://b']\n"))
    }
  }

  @Test("CRASHD_CONFIG names the settings file, and a missing one is an error")
  func variable() throws {
    let missing = try crashd([], environment: ["CRASHD_CONFIG": "/nowhere/crashd.yaml"])
    #expect(missing.status == 2 && missing.complaint.contains("/nowhere/crashd.yaml"))
    try withFile("retention: {age: 5d}") { path in
      let both = try crashd(["--config", path], environment: ["CRASHD_CONFIG": "/nowhere/crashd.yaml"])
      #expect(both.status == 0 && both.output.contains("retention.age: 5d\n"))
    }
  }
}
