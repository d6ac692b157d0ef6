import CrashClient
import CrashProtocol
import CrashReport
import Glibc
import TestKit
import Testing

@Suite("The first crash of a build, end to end")
struct FirstCrashTests {
  /// Creates a program that replaces crash-analyse, and a named pipe (the gate) that delays this program.
  ///
  /// The program waits for a line from the gate, and then exits without reading symbols.
  private static func gate(in place: PrivateDaemon.Place) throws -> (program: String, gate: FileDescriptor) {
    let (path, program) = (place.root.path + "/gate", place.root.path + "/analyse")
    guard unsafe mkfifo(path, 0o600) == 0 else { throw SystemError("mkfifo '\(path)'", errno) }
    let file = try FileDescriptor(
      unsafe open(program, O_WRONLY | O_CREAT | O_CLOEXEC, 0o700), from: "open '\(program)'")
    let script = Array("#!/bin/sh\nread line <'\(path)'; exit 65\n".utf8)
    #expect(unsafe write(file.number, script, script.count) == script.count)
    return (program, try FileDescriptor(unsafe open(path, O_RDWR | O_CLOEXEC), from: "open '\(path)'"))
  }

  @Test("if crashd is killed while a crash has only its report without symbols, the next crashd stores one report")
  func killed() async throws {
    let place = try PrivateDaemon.Place()
    let (program, gate) = try Self.gate(in: place)
    let first = try await PrivateDaemon.start(in: place, options: ["--analyse-path", program])
    let crash = try await Crasher.run("fatal-error", ["--wait-attached"], environment: place.environment)
    let client = first.client
    let early = try await blocking {
      try Patience.wait(for: "crashd shows no crash", slices: Patience.slices * 100) { _ in
        let found = try client.list(ListQuery(filter: ReportFilter(pid: Int(crash.pid)))).first
        if found == nil { usleep(10_000) }
        return found
      }
    }
    #expect(early.isPreliminary == true)
    let report = try await blocking { try client.report(id: early.id).report }
    #expect(report.isPreliminary == true && report.reason.contains("the price list is empty"))
    #expect(try await blocking { try client.status().reports } == 0)
    try await first.kill()
    // Each line ends one replacement of crash-analyse that the killed crashd has left waiting at the gate.
    let lines = [UInt8](repeating: UInt8(ascii: "\n"), count: 64)
    #expect(unsafe write(gate.number, lines, lines.count) == lines.count)

    let second = try await PrivateDaemon.start(in: place)
    let whole = try await second.firstReport(of: crash.pid)
    #expect(whole.id == early.id && whole.isPreliminary == nil && whole.signal == report.signal)
    #expect(whole.crashedThread?.topOwnFrame?.function.isEmpty == false)
    let listed = try await blocking { try second.client.list() }
    #expect(listed.map(\.id) == [early.id] && listed.first?.isPreliminary == nil)
    #expect(try await blocking { try second.client.groups().map(\.count) } == [1])
    try await second.stop()
  }
}
