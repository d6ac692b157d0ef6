import CrashRing
import Foundation
import TestKit
import Testing

/// Runs a scenario of crash-maker without crashd, and reads the ring from the spool directory of this run.
func capture(
  _ scenario: String, _ options: [String] = [], environment: [String: String] = [:]
) throws -> RingContents {
  try withCapturedRing(scenario, options, environment: environment) { path in
    let file = try FileHandle(forReadingFrom: path)
    return try RingMapping(spoolFile: file.fileDescriptor).contents()
  }
}

/// Runs a scenario as `capture` does, and calls the body with the path of the spooled ring.
func withCapturedRing<Result>(
  _ scenario: String, _ options: [String] = [], environment: [String: String] = [:], _ body: (URL) throws -> Result
) throws -> Result {
  let folder = FileManager.default.temporaryDirectory.appending(path: "capture-\(UUID().uuidString.prefix(8))")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
  let spool = folder.appending(path: "spool")

  let process = Process()
  process.executableURL = TestProgram.url("crash-maker")
  process.arguments = [scenario] + options
  process.environment = [
    "CRASHSHIELD_SOCKET": folder.appending(path: "attach").path, "CRASHSHIELD_SPOOL": spool.path,
    "SWIFT_BACKTRACE": "enable=no", "PATH": "/usr/bin",
    // These time limits are long enough for a machine under load.
    "CRASHSHIELD_SWEEP_MS": "800", "CRASHSHIELD_DEADLINE_MS": "60000",
    // Disables the signal handlers of the sanitizers, because they would end the process with exit().
    "ASAN_OPTIONS": "handle_segv=0:handle_sigbus=0:handle_abort=0:detect_leaks=0",
    "TSAN_OPTIONS": "handle_segv=0:handle_sigbus=0:handle_abort=0",
  ].merging(environment) { $1 }
  process.standardError = FileHandle.nullDevice
  process.standardOutput = FileHandle.nullDevice
  try process.run()
  process.waitUntilExit()
  try #require(process.terminationReason == .uncaughtSignal, "\(scenario) ended with \(process.terminationStatus)")

  let names = try FileManager.default.contentsOfDirectory(atPath: spool.path).filter { $0.hasSuffix(".ring") }
  return try body(spool.appending(path: try #require(names.first)))
}

/// Whether the tests run under a sanitizer.
var isSanitized: Bool {
  // Invariant: dlsym() only searches the loaded libraries, and the name is a valid C string during the call.
  ["__asan_init", "__tsan_init"].contains { (name: String) in unsafe dlsym(nil, name) != nil }
}
