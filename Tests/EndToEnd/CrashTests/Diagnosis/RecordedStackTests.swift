import CrashClient
import CrashProtocol
import CrashReport
import Glibc
import TestKit
import Testing

/// Tests the copies of stack memory that crashd stores for debuggers.
@Suite(.sharedDaemon, .serialized)
struct RecordedStackTests {
  @Test("crashd returns the recorded stacks, and crashctl's minidump contains the stacks")
  func stacks() async throws {
    let daemon = try SharedDaemon.current
    let crash = try await Crasher.run("null-write", ["--wait-attached"], environment: daemon.place.environment)
    let report = try #require(try await daemon.reports(of: crash.pid).first)
    let thread = try #require(report.crashedThread)
    let client = daemon.client
    let stacks = try await blocking { try client.stacks(id: report.id) }
    #expect(stacks.map(\.tid) == [thread.tid])
    let stack = try #require(stacks.first)
    let pointer = try #require(thread.registers["rsp"]).rawValue
    #expect(stack.start.rawValue <= pointer && pointer - stack.start.rawValue < UInt64(stack.bytes.count))
    // The recorded stack memory contains the return addresses of the frames.
    let callers = thread.stackFrames.dropFirst().prefix(3).map(\.address.rawValue)
    try #require(!callers.isEmpty)
    for caller in callers { #expect(Self.has(caller, in: stack.bytes), "\(Address(caller))\n\(thread.listing)") }

    let directory = try TestDirectory()
    let path = directory.path + "/crash.dmp"
    let dump = try ChildProcess.start(
      Binaries.path("crashctl"),
      ["dump", "--format", "minidump", "-o", path, "--socket", daemon.place.varlinkSocket, report.id],
      ChildProcess.Options(directory: directory.path, errorPath: directory.path + "/error"))
    let status = try await dump.wait()
    let error = try contents(of: directory.path + "/error")
    #expect(status.code == 0, "\(error)")
    let bytes = try FileDescriptor(opening: path, O_RDONLY).readToEnd()
    #expect(bytes.starts(with: Array("MDMP".utf8)))
    #expect(bytes.count > stack.bytes.count)
    let place = bytes.firstRange(of: stack.bytes)
    #expect(place != nil)
  }

  private static func has(_ word: UInt64, in bytes: [UInt8]) -> Bool {
    let wanted = (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) }
    return stride(from: 0, to: bytes.count - 7, by: 8).contains { bytes[$0..<$0 + 8].elementsEqual(wanted) }
  }
}
