import CShimRing
import CrashProtocol
import CrashReport
import CrashRing
import CrashStore
import Glibc
import TestKit
import Testing

@testable import CrashDaemon

/// Tests that crashd reads crashes of both architectures from attached processes, spool files and record lines.
@Suite("Records of both architectures")
struct ArchitectureTests {
  /// A ring of AArch64 with a Swift trap at 0x10010.
  static func ring(id: UInt8 = 0) -> TestRing {
    var ring = TestRing(id: id, architecture: 2)
    ring.addImage(0)
    ring.addCrash(
      signal: SIGTRAP, address: 0x10010, instruction: [0x20, 0, 0x20, 0xd4], code: 1,
      registers: (0..<32).map { 0x100 + $0 } + [0x10010], flags: 0x6000_1000)
    return ring
  }

  private static func check(_ report: CrashReport) {
    #expect(report.process.architecture == "aarch64")
    #expect(report.diagnosis.sentence.hasPrefix("Swift stopped the program: sold out"))
    let registers = report.threads.first?.registers
    #expect(registers?["x0"] == 0x100 && registers?["x30"] == 0x11e && registers?["sp"] == 0x11f)
    #expect(registers?["pc"] == 0x10010 && registers?["pstate"] == 0x6000_1000 && registers?["rax"] == nil)
  }

  @Test("a ring has the architecture of its process, on any machine", arguments: [1, 2] as [UInt32])
  func contents(number: UInt32) throws {
    var ring = TestRing(architecture: number)
    ring.addCrash()
    let contents = try ring.contents()
    let architecture: Architecture = number == 1 ? .x86_64 : .aarch64
    #expect(contents.identity.architecture == architecture && contents.records.map(\.architecture) == [architecture])
  }

  @Test("a ring with the number of an unknown architecture is refused", arguments: [0, 3, 77, .max] as [UInt32])
  func unknown(number: UInt32) throws {
    let error = #expect(throws: RingError.self) { try TestRing(architecture: number).contents() }
    #expect(
      error?.description == "the ring has architecture \(number), this reader supports 1 (x86_64) and 2 (aarch64): "
        + "build the program and crashd with the same release")
  }

  @Test(
    "a record whose number of registers does not fit its architecture gives a report, or is counted as corrupt",
    arguments: [0, 1, 17, 32, 34, 35, .max] as [UInt64])
  func registers(count: UInt64) throws {
    for number in [1, 2] as [UInt32] {
      var ring = TestRing(architecture: number)
      ring.addImage(0)
      ring.addCrash(registers: (0..<34).map { 0x100 + $0 }, registerCount: count)
      let contents = try ring.contents()
      if count > 34 {
        #expect(contents.records.isEmpty && contents.losses["corrupt"] == 1)
      } else {
        let limit = number == 1 ? 17 : 33
        let registers = try #require(contents.report()).threads[0].registers
        #expect(registers.count == (count == 0 ? 0 : min(Int(count), limit) + 1))
      }
    }
  }

  @Test("a spool file and a record line of AArch64 are stored, with the architecture in the report")
  func sources() async throws {
    let (spooled, line) = (Self.ring(id: 1), Self.ring(id: 2))
    try await TestDaemon.run(prepare: { try SpoolTests.leave(spooled, in: $0.spool) }) { daemon in
      let client = try await daemon.client()
      try await client.untilReports(1)
      Self.check(try daemon.store.report(idPrefix: spooled.id).report)
      let text = JSONValue.string(TestRecordLine.text(of: line.bytes))
      _ = try await client.call("io.crashshield.Crashd.Import", ["record": text])
      Self.check(try daemon.store.report(idPrefix: line.id).report)
      let again = try await client.call("io.crashshield.Crashd.Reanalyse", ["id": .string(line.id)])
      #expect(again.object("report").object("process").string("architecture") == "aarch64")
    }
  }

  @Test("the incident of a trap that was contained on AArch64 has the registers of AArch64")
  func incident() throws {
    var ring = TestRing(architecture: 2)
    ring.addIncident(0, key: 7, subject: "", count: 1, mode: 0, source: 4)
    ring.makeTrap(0, registers: 16, flags: 0x6000_0000)
    let contents = try ring.contents()
    let facts = ProcessFacts(contents, peer: Peer(pid: 7, uid: 1000), unit: nil)
    let builder = IncidentBuilder(images: contents.images, process: facts, symbols: OpenCaches())
    let incident = try #require(contents.incidents.first)
    let registers = try #require(builder.report(of: incident).registers)
    #expect(registers["x15"] == 0x10f && registers["pc"] == 0x40_0010 && registers["pstate"] == 0x6000_0000)
    #expect(registers.count == 18)
  }
}
