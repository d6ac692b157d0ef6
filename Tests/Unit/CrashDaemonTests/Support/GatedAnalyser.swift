import CrashSymbols
import Glibc
import LinuxSystem
import TestKit
import Testing

@testable import CrashDaemon

/// A stand-in for crash-analyse that writes the whole cache of build `abcd` when the test opens its gate.
///
/// Every other job fails: no unwind tables, no partial caches.
struct GatedAnalyser {
  let program: String
  private let gate: Descriptor

  init(in directory: TestDirectory) throws {
    let path = "\(directory.path)/gate"
    try #require(unsafe mkfifo(path, 0o600) == 0)
    // Open for both ends: neither the test nor a child waits for the other.
    gate = Descriptor(owning: unsafe Glibc.open(path, O_RDWR | O_CLOEXEC))
    try directory.writeCache("ready", hasDebugInformation: true)
    let script = """
      #!/bin/sh
      test "$1 $#" = 'build-cache 3' || exit 65
      read line <'\(path)'; cat '\(directory.path)/ready'

      """
    program = try directory.write(Array(script.utf8), to: "analyse", mode: 0o700)
  }

  /// Lets 16 jobs through, also ones that have not started.
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
