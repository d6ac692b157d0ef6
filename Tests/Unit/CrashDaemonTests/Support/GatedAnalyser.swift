import CrashSymbols
import Glibc
import LinuxSystem
import TestKit
import Testing

@testable import CrashDaemon

/// A replacement for crash-analyse.
///
/// For the complete cache of build `abcd`, it waits until the test opens the gate, and then writes the cache.
///
/// Every other job fails, such as those for unwind tables and partial caches.
struct GatedAnalyser {
  let program: String
  private let gate: Descriptor

  init(in directory: TestDirectory) throws {
    let path = "\(directory.path)/gate"
    try #require(unsafe mkfifo(path, 0o600) == 0)
    // The pipe is open for reading and writing here, so open() blocks neither the test nor a child.
    gate = Descriptor(owning: unsafe Glibc.open(path, O_RDWR | O_CLOEXEC))
    try directory.writeCache("ready", hasDebugInformation: true)
    let script = """
      #!/bin/sh
      test "$1 $#" = 'build-cache 3' || exit 65
      read line <'\(path)'; cat '\(directory.path)/ready'

      """
    program = try directory.write(Array(script.utf8), to: "analyse", mode: 0o700)
  }

  /// Opens the gate: writes 16 lines, one for each waiting or later job.
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
