import CrashRing
import Foundation
import Glibc
import TestKit
import Testing

/// Tests that the ring can be read while it is written.
///
/// Four threads of a child process write while this process reads. This process kills the child at random times,
/// `RING_TORTURE_KILLS` times in total: 100 times in CI under each sanitizer.
@Suite("A ring with four writers that are killed at random times")
struct RingTortureTests {
  private static let kills = ProcessInfo.processInfo.environment["RING_TORTURE_KILLS"].flatMap { Int($0) } ?? 10

  @Test("a ring whose writers are killed contains only complete records of the writers")
  func torture() throws {
    var records = 0
    var torn = 0
    for round in 0..<Self.kills {
      let writer = try RingWriter()
      let mapping = try writer.openRing()
      // Kills some writers after their first records, and others after they have filled every slot several times.
      var contents = mapping.contents()
      var looks = 0
      while contents.records.isEmpty || looks < round % 5 {
        check(contents)
        try #require(writer.isRunning, "the writer ended by itself: \(writer.complaint())")
        looks += 1
        contents = mapping.contents()
      }
      let end = writer.kill()
      try #require(end == SIGKILL, "the writer ended by itself: \(writer.complaint())")
      let last = mapping.contents()
      check(last)
      records += last.records.count
      torn += last.losses["torn"] ?? 0
    }
    // The rings must have one record per round on average. At least one kill must have interrupted a write; otherwise
    // the test would prove nothing.
    #expect(records >= Self.kills)
    if Self.kills >= 100 { #expect(torn > 0) }
  }

  @Test("a ring with four writers is read correctly by a thread of the same process")
  func together() throws {
    // Under ThreadSanitizer, a data race between a writer and the reader ends the process.
    for _ in 0..<max(2, Self.kills / 10) {
      let writer = try RingWriter(["together"])
      let status = writer.wait()
      try #require(status == 0, "\(status): \(writer.complaint())")
    }
  }

  private func check(_ contents: RingContents) {
    #expect(contents.losses["corrupt"] == nil)
    #expect(Set(contents.records.map(\.sequence)).count == contents.records.count)
    for record in contents.records {
      let ticket = record.sequence
      let letter = UInt8(ascii: "a") + UInt8(ticket % 26)
      #expect(record.address == ticket &* 0x9e37_79b9_7f4a_7c15)
      #expect(record.message.utf8.elementsEqual([UInt8](repeating: letter, count: Int(ticket % 1999) + 1)))
      #expect(record.stack == [UInt8](repeating: letter, count: Int(ticket % 9973) + 1))
      #expect(record.generation == ticket / 64 + 1 && record.slot == Int(ticket % 64))
      #expect(!record.frames.isEmpty)
    }
    let notes = contents.breadcrumbs.map(\.text) + contents.annotations.values
    for note in notes { #expect(Set(note.utf8).count == 1, "mixed: \(note)") }
  }
}

/// A child process that writes a ring.
private final class RingWriter {
  private let process = Process()
  private let output = Pipe()
  private let folder = FileManager.default.temporaryDirectory.appending(path: "writer-\(UUID().uuidString.prefix(8))")

  init(_ arguments: [String] = []) throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let complaints = folder.appending(path: "complaints")
    try Data().write(to: complaints)
    process.executableURL = TestProgram.url("shim-host")
    process.arguments = ["ring"] + arguments
    // If a sanitizer finds a fault, it ends the writer, so the test fails.
    process.environment = ["TSAN_OPTIONS": "halt_on_error=1", "ASAN_OPTIONS": "detect_leaks=0"]
    process.standardOutput = output
    process.standardError = try FileHandle(forWritingTo: complaints)
    try process.run()
  }

  deinit {
    if process.isRunning { _ = kill() }
    try? FileManager.default.removeItem(at: folder)
  }

  var isRunning: Bool { process.isRunning }

  /// The standard error of the writer.
  func complaint() -> String {
    (try? String(contentsOf: folder.appending(path: "complaints"), encoding: .utf8)) ?? ""
  }

  /// Maps the ring through the descriptor whose number the writer has printed.
  func openRing() throws -> RingMapping {
    let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
    let number = try #require(
      Int32(line.split(separator: "\n").first ?? ""), "the writer did not start: \(complaint())")
    let ring = try FileHandle(forReadingFrom: URL(filePath: "/proc/\(process.processIdentifier)/fd/\(number)"))
    return try RingMapping(descriptor: ring.fileDescriptor)
  }

  /// The writer's exit status.
  ///
  /// It is -1 if a signal ended the writer.
  func wait() -> Int32 {
    process.waitUntilExit()
    return process.terminationReason == .exit ? process.terminationStatus : -1
  }

  /// Kills the writer, and returns the signal that ended it.
  ///
  /// Returns 0 if the writer had already ended without a signal.
  func kill() -> Int32 {
    Glibc.kill(process.processIdentifier, SIGKILL)
    process.waitUntilExit()
    return process.terminationReason == .uncaughtSignal ? process.terminationStatus : 0
  }
}
