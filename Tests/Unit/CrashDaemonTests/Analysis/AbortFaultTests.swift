import CrashReport
@testable import CrashRing
import Glibc
import TestKit
import Testing

@testable import CrashDaemon

/// Tests the analysis of `abort()` in the first process of a PID namespace.
///
/// There SIGABRT has no effect, and `abort()` then ends the process by a fault.
@Suite("The fault by which abort() ends a process")
struct AbortFaultTests {
  /// The record of the SIGABRT that `abort()` sends.
  ///
  /// Its three innermost frames are those of `pthread_kill`, `raise` and `abort`.
  private static func abort() -> CrashRecord {
    CrashRecord.sample(
      signal: SIGABRT, code: -6,
      frames: [.at(0x10010, exact: true), .at(0x10020), .at(0x10030), .at(0x10040), .at(0x10050)])
  }

  /// The record of the fault in `abort()`.
  ///
  /// It has the return addresses of the callers of `abort()`.
  private static func fault(callers: [UInt64], tid: Int32 = 12) -> CrashRecord {
    var fault = CrashRecord.sample(
      signal: SIGSEGV, code: 128, frames: [.at(0x10034, exact: true)] + callers.map { .at($0) })
    (fault.slot, fault.sequence, fault.tid) = (1, 1, tid)
    return fault
  }

  private static func signals(_ records: [CrashRecord]) throws -> [String] {
    var contents = RingContents.sample(records)
    contents.survived = 1
    let report = try #require(contents.report())
    return [report.signal.name] + report.threads.map { "thread \($0.tid)" }
  }

  @Test("if abort() sends SIGABRT without effect and then faults, the fault is a part of the same crash")
  func ofAbort() throws {
    #expect(try Self.signals([Self.abort(), Self.fault(callers: [0x10040, 0x10050])]) == ["SIGABRT", "thread 12"])
  }

  @Test("a later fault with other callers, or of another thread, is a separate crash")
  func ofOther() throws {
    let both = ["SIGSEGV", "thread 12", "thread 12"]
    #expect(try Self.signals([Self.abort(), Self.fault(callers: [0x10048, 0x10050])]) == both)
    #expect(try Self.signals([Self.abort(), Self.fault(callers: [])]) == both)
    let ofOther = Self.fault(callers: [0x10040, 0x10050], tid: 13)
    #expect(try Self.signals([Self.abort(), ofOther]) == ["SIGSEGV", "thread 13", "thread 12"])
  }
}
