import CrashSymbols
import Glibc
import LinuxSystem
import TestKit
import Testing

@testable import CrashDaemon

/// A replacement for crash-analyse.
///
/// It writes the complete cache of build `abcd` when the test has opened its gate.
///
/// Every other job fails. The replacement creates no unwind tables and no partial caches.
struct GatedAnalyser {
  let program: String
  private let gate: Descriptor

  init(in directory: TestDirectory) throws {
    let path = "\(directory.path)/gate"
    try #require(unsafe mkfifo(path, 0o600) == 0)
    // The test opens the pipe for reading and writing. Therefore neither the test nor a child blocks in open().
    gate = Descriptor(owning: unsafe Glibc.open(path, O_RDWR | O_CLOEXEC))
    try directory.writeCache("ready", hasDebugInformation: true)
    let script = """
      #!/bin/sh
      test "$1 $#" = 'build-cache 3' || exit 65
      read line <'\(path)'; cat '\(directory.path)/ready'

      """
    program = try directory.write(Array(script.utf8), to: "analyse", mode: 0o700)
  }

  /// Writes 16 lines, which release 16 jobs, including jobs that have not started yet.
  func open() {
    let lines = [UInt8](repeating: UInt8(ascii: "\n"), count: 16)
    #expect(unsafe Glibc.write(gate.number, lines, lines.count) == lines.count)
  }
}

extension TestDirectory {
  /// Writes an empty symbol cache of build `abcd`.
  func writeCache(_ name: String, hasDebugInformation: Bool) throws {
    let output = Descriptor(owning: unsafe Glibc.open(try write([], to: name), O_WRONLY | O_CLOEXEC))
    try SymbolCacheWriter.write(
      SymbolCacheContents(
        base: 0, buildID: [0xab, 0xcd], ranges: [], locations: [], contexts: [], functions: [], strings: [0],
        hasDebugInformation: hasDebugInformation), to: output.number)
  }
}
