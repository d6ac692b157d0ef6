import CShimRing
import CrashReport
import CrashRing
import TestKit
import Testing

@testable import CrashDaemon

@Suite("Incidents before a crash")
struct IncidentHistoryTests {
  /// A time before the crash in a test ring.
  private static let before: UInt64 = 1_700_000_000_000_000_000

  private static func report(_ fill: (inout TestRing) -> Void) throws -> CrashReport {
    var ring = TestRing()
    ring.addImage(0)
    fill(&ring)
    ring.addCrash()
    let contents = try RingSource(memory: ring.memory()).mapping.contents()
    let facts = ProcessFacts(contents, peer: Peer(pid: 4711, uid: 0), unit: nil)
    var builder = ReportBuilder(contents, process: facts, symbols: OpenCaches())
    builder.noteHistory()
    return try #require(builder.report(id: ring.id))
  }

  @Test("a report lists earlier incidents by last occurrence, but not the crash's own incident or later incidents")
  func kept() throws {
    let report = try Self.report { ring in
      ring.addIncident(0, key: 2, subject: "App.Session", count: 5, mode: 1, first_ns: Self.before)
      ring.addIncident(
        1, key: 1, subject: "Shop/Cart.swift: index 9 of 3 elements", count: 1, mode: 0, source: 2,
        first_ns: Self.before)
      ring.setWord(1, 12)
      ring.addIncident(2, key: 3, subject: "App.Session", count: 1, mode: 4, first_ns: Self.before)
      ring.addIncident(3, key: 4, subject: "App.Session", count: 1, mode: 4, first_ns: Self.before)
      ring.addIncident(4, key: 5, subject: "App.Late", count: 1, mode: 0)
      ring.makeFreedRecord(3, at: 0x7f12_3456_4a20, tid: 4712, sequence: 0)
    }
    let incidents = try #require(report.incidents)
    #expect(incidents.map(\.source) == ["guard", "quarantine"])
    #expect(incidents.map(\.count) == [1, 5] && incidents.map(\.mode) == ["absorb", "zero"])
    #expect(incidents.map(\.id).allSatisfy { $0.hasPrefix(report.id.prefix(16)) })
    #expect(incidents.first?.sentence == "Index 9 of 3 elements (Shop/Cart.swift:12).")
    #expect(report.incidentsOmitted == nil)
  }

  @Test("a report lists a bounded number of incidents, and the number of omitted ones")
  func many() throws {
    let report = try Self.report { ring in
      for index in 0..<20 {
        ring.addIncident(
          index, key: UInt64(index + 1), subject: "App.Session", count: 1, mode: 0, first_ns: Self.before)
      }
    }
    #expect(report.incidents?.count == IncidentHistory.limit && report.incidentsOmitted == 4)
    #expect(report.incidents?.last?.id.hasSuffix("-0000000000000014") == true)
  }

  @Test("in a report, an earlier incident of a contained request names the request")
  func contained() throws {
    let report = try Self.report { ring in
      ring.addRequest(0, number: 7, operation: "GET /cart")
      ring.trapRequest(0)
      ring.addIncident(0, key: 1, subject: "", count: 1, mode: 0, source: 4, first_ns: Self.before)
      ring.makeRequestTrap(0, number: 7)
    }
    #expect(report.incidents?.map(\.sentence) == ["Request GET /cart trapped."])
  }

  @Test("a report without earlier incidents has no list of incidents")
  func none() throws {
    let report = try Self.report { _ in }
    #expect(report.incidents == nil && report.incidentsOmitted == nil)
  }
}
