import CShimRing
import CrashRing
import Testing

@Suite("Incidents and protected classes of a ring")
struct IncidentTests {
  @Test("whole incidents are read in the order of their first time, with what is known of the object")
  func incidents() throws {
    let ring = TestRing()
    ring.addIncident(9, key: 5, subject: "App.Session", first_ns: 20, use: [1, 2])
    ring.addIncident(255, key: 7, subject: "App.\u{1b}", first_ns: 10, use: [3], free: [4, 5, 6])
    let contents = try ring.contents()
    #expect(contents.incidents.map(\.subject) == ["App.␛", "App.Session"])
    let first = try #require(contents.incidents.first)
    #expect(first.key == 7 && first.source == .quarantine && first.kind == 1 && first.mode == .zero)
    #expect(first.count == 3 && first.last_ns == 11 && first.method == 0x4010 && first.useTid == 12)
    let record = try #require(first.record)
    #expect(record.id == 77 && record.address == 0x5000 && record.age_ns == 9 && record.isExplorer)
    #expect(record.tid == 13 && record.stack == [4, 5, 6])
    #expect(contents.incidents[1].record == nil && contents.incidents[1].use == [1, 2])
    #expect(contents.losses.isEmpty)
  }

  @Test("an incident that is being filled in is not read; one with a hostile length is counted")
  func lostIncidents() throws {
    let ring = TestRing()
    for index in 0..<5 { ring.addIncident(index, key: 1, subject: "a", first_ns: 1, use: []) }
    ring.set(\cs_ring_incident.sequence, at: TestRing.incident(0), 0)
    ring.set(\cs_ring_incident.use_count, at: TestRing.incident(1), 17)
    ring.set(\cs_ring_incident.free_count, at: TestRing.incident(2), .max)
    ring.set(\cs_ring_incident.subject_bytes, at: TestRing.incident(3), 129)
    ring.set(\cs_ring_incident.count, at: TestRing.incident(4), 0)
    ring.set(\cs_ring_header.incident_lost, 6)
    let contents = try ring.contents()
    #expect(contents.incidents.isEmpty)
    #expect(contents.losses == ["incidents": 10])
  }

  @Test("protected classes are read with their counters; what found no entry is counted")
  func classes() throws {
    let ring = TestRing()
    ring.addClass(0, "App.Session", admitted: 10)
    ring.addClass(1, "", admitted: 11)
    ring.set(\cs_ring_header.class_total, 7)
    let contents = try ring.contents()
    #expect(contents.protectedClasses.map(\.name) == ["App.Session"])
    let session = try #require(contents.protectedClasses.first)
    #expect(session.isProtected && session.admitted == 10 && session.mode == .diagnose && session.limit == 50)
    #expect(contents.losses == ["classes": 6])
  }

  @Test("a count of classes above the limit reads as the limit")
  func manyClasses() throws {
    let ring = TestRing()
    ring.set(\cs_ring_header.class_count, .max)
    #expect(try ring.contents().losses == ["classes": Int(CS_RING_CLASS_LIMIT)])
  }
}
