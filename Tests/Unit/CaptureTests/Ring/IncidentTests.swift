import CShimRing
@testable import CrashRing
import Testing

@Suite("Incidents and protected classes of a ring")
struct IncidentTests {
  @Test("complete incidents are read in the order of their first occurrence, with the known data of the object")
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

  @Test("an incident in a guard slot has the object's allocation stack, and states whether the access is exact")
  func pages() throws {
    let ring = TestRing()
    ring.addIncident(0, key: 1, subject: "App.Session", first_ns: 1, use: [1, 2], free: [3])
    let base = TestRing.incident(0)
    ring.set(\cs_ring_incident.source, at: base, cs_ring_incident_source.CS_RING_INCIDENT_PAGES.rawValue)
    ring.set(\cs_ring_incident.kind, at: base, cs_ring_pages.CS_RING_PAGES_WRITE.rawValue)
    ring.set(\cs_ring_incident.mode, at: base, cs_mode.CS_MODE_CRASH.rawValue)
    ring.set(\cs_ring_incident.flags, at: base, CS_RING_INCIDENT_RECORD | CS_RING_INCIDENT_EXACT)
    ring.set(\cs_ring_incident.origin_count, at: base, 2)
    ring.set(\cs_ring_incident.origin_tid, at: base, 14)
    ring.set(\cs_ring_incident.object_bytes, at: base, 24)
    for index in 0..<2 {
      ring.put(
        UInt64(8 + index),
        at: base + fieldOffset(\cs_ring_incident.detail) + fieldOffset(\cs_ring_object_stacks.origin) + index * 8)
    }
    let incident = try #require(try ring.contents().incidents.first)
    #expect(incident.source == .pages && incident.mode == .crash && incident.isExact)
    let record = try #require(incident.record)
    #expect(record.origin == [8, 9] && record.originTid == 14 && record.bytes == 24 && record.stack == [3])
  }

  @Test("a contained trap has registers and more frames; if the record also names an object, it is a use-after-free")
  func trap() throws {
    let ring = TestRing()
    for index in 0..<2 {
      let base = TestRing.incident(index)
      ring.addIncident(
        index, key: UInt64(index + 1), subject: "App.swift:1: Fatal error", first_ns: UInt64(index), use: Array(1...16),
        free: [4, 5, 6])
      ring.set(\cs_ring_incident.source, at: base, cs_ring_incident_source.CS_RING_INCIDENT_CONTAINED.rawValue)
      ring.set(
        \cs_ring_incident.flags, at: base,
        CS_RING_INCIDENT_TRAP | CS_RING_INCIDENT_EXACT | (index == 1 ? CS_RING_INCIDENT_RECORD : 0))
      ring.set(\cs_ring_incident.origin_count, at: base, 2)
      let frames = base + fieldOffset(\cs_ring_incident.detail) + fieldOffset(\cs_ring_trap.frames)
      ring.put(UInt64(17), at: frames)
      ring.put(UInt64(18), at: frames + 8)
    }
    let incidents = try ring.contents().incidents
    let first = try #require(incidents.first)
    #expect(first.source == .isolated && first.use == Array(1...18) && first.record == nil)
    #expect(first.trap == Incident.Trap(registers: [4, 5, 6], flags: 0x5000))
    let second = try #require(incidents.last)
    #expect(second.trap == nil && second.use == Array(1...16) && second.record?.origin == [17, 18])
  }

  @Test("an incident that is being written is not read; an incident with a hostile length is counted")
  func lostIncidents() throws {
    let ring = TestRing()
    for index in 0..<6 { ring.addIncident(index, key: 1, subject: "a", first_ns: 1, use: []) }
    ring.set(\cs_ring_incident.sequence, at: TestRing.incident(0), 0)
    ring.set(\cs_ring_incident.use_count, at: TestRing.incident(1), 17)
    ring.set(\cs_ring_incident.free_count, at: TestRing.incident(2), .max)
    ring.set(\cs_ring_incident.subject_bytes, at: TestRing.incident(3), 129)
    ring.set(\cs_ring_incident.count, at: TestRing.incident(4), 0)
    ring.set(\cs_ring_incident.origin_count, at: TestRing.incident(5), 17)
    ring.set(\cs_ring_header.incident_lost, 6)
    let contents = try ring.contents()
    #expect(contents.incidents.isEmpty)
    #expect(contents.losses == ["incidents": 11])
  }

  @Test("protected classes are read with their counters, and classes without an entry are counted")
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

  @Test("a count of protected classes above the limit is read as the limit")
  func manyClasses() throws {
    let ring = TestRing()
    ring.set(\cs_ring_header.class_count, .max)
    #expect(try ring.contents().losses == ["classes": Int(CS_RING_CLASS_LIMIT)])
  }
}
