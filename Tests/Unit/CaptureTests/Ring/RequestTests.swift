import CShimRing
@testable import CrashRing
import Glibc
import TestKit
import Testing

@Suite("Requests of a ring")
struct RequestTests {
  private static let slotRequest = TestRing.slot(0) + fieldOffset(\cs_ring_slot.request)

  @Test("running requests are read oldest first, with all fields and the counts of the header")
  func running() throws {
    let ring = TestRing()
    ring.addRequest(0, number: 2, started_ns: 2_000, operation: "POST /buy")
    ring.addRequest(
      at: TestRing.request(3), number: 1, started_ns: 1_000, operation: "GET /cart\u{1b}", id: "7F3A",
      trace: Array(1...16), span: Array(1...8), tags: "tier\0gold\0empty\0\0torn\0")
    ring.useRequests(4)
    ring.set(\cs_ring_header.request_begun, 9)
    ring.set(\cs_ring_header.request_finished, 4)
    ring.set(\cs_ring_header.request_failed, 1)
    ring.set(\cs_ring_header.request_overflow, 3)
    let contents = try ring.contents()
    #expect(contents.losses.isEmpty)
    let requests = contents.requests
    #expect(requests.running.map(\.number) == [1, 2])
    let first = try #require(requests.running.first)
    #expect(first.operation == "GET /cart␛" && first.id == "7F3A" && first.startTime_ns == 1_000)
    #expect(first.traceID == "0102030405060708090a0b0c0d0e0f10" && first.spanID == "0102030405060708")
    #expect(first.tags == ["tier": "gold", "empty": ""])
    #expect(requests.running[1].traceID.isEmpty && requests.running[1].spanID.isEmpty && requests.running[1].id.isEmpty)
    let counts = requests.counts
    #expect((counts.begun, counts.finished, counts.failed, counts.overflow) == (9, 4, 1, 3))
    #expect(counts.unended == 4 && !counts.isLookupRefused && !counts.isEmpty)
  }

  @Test("free, claimed and unused entries are not read as requests in flight")
  func others() throws {
    let ring = TestRing()
    ring.addRequest(at: TestRing.request(0), number: 1, state: 0x300)
    ring.addRequest(at: TestRing.request(1), number: 2, state: 0x301)
    ring.addRequest(at: TestRing.request(2), number: 3)
    ring.useRequests(2)
    let contents = try ring.contents()
    #expect(contents.requests.running.isEmpty && contents.losses.isEmpty)
  }

  @Test("the reader reads all entries of a full request table")
  func full() throws {
    let ring = TestRing()
    for index in 0..<4_096 { ring.addRequest(index, number: UInt64(4_096 - index), started_ns: UInt64(index % 7)) }
    let running = try ring.contents().requests.running
    #expect(running.count == 4_096 && Set(running.map(\.number)).count == 4_096)
    let keys = running.map { [$0.startTime_ns, $0.number] }
    #expect(zip(keys, keys.dropFirst()).allSatisfy { $0.lexicographicallyPrecedes($1) })
  }

  @Test("the reader drops a hostile entry only, and does not read past the table if the count is hostile")
  func hostile() throws {
    let ring = TestRing()
    ring.addRequest(0, number: 0)
    ring.addRequest(1, number: 2)
    ring.set(\cs_ring_request.operation_bytes, at: TestRing.request(1), 97)
    ring.addRequest(2, number: 3)
    ring.set(\cs_ring_request.id_bytes, at: TestRing.request(2), .max)
    ring.addRequest(3, number: 4)
    ring.set(\cs_ring_request.tag_bytes, at: TestRing.request(3), 257)
    ring.addRequest(at: TestRing.request(4), number: 5, state: 0x1ff)
    ring.addRequest(at: TestRing.request(5), number: 6, operation: "GET")
    ring.setBytes(\cs_ring_request.operation, at: TestRing.request(5), [0xff, 0xc3, 0x28])
    ring.addRequest(4_095, number: 7)
    ring.set(\cs_ring_header.request_high, .max)
    let contents = try ring.contents()
    #expect(contents.requests.running.map(\.number) == [6, 7])
    #expect(contents.requests.running[0].operation == "\u{fffd}\u{fffd}(")
    #expect(contents.losses == ["requests": 5])
    ring.set(\cs_ring_header.request_finished, .max)
    #expect(try ring.contents().requests.counts.unended == 0)
  }

  @Test("a record has the request of its thread, and is read without a request if the request is damaged")
  func crashed() throws {
    let ring = TestRing()
    ring.addRecord(slot: 0, message: "message")
    #expect(try ring.contents().records[0].request == nil)
    ring.addRequest(at: Self.slotRequest, number: 5, operation: "GET /", id: "a")
    ring.commitRequest(slot: 0)
    let contents = try ring.contents()
    #expect(contents.records[0].request?.number == 5 && contents.records[0].request?.id == "a")
    #expect(contents.losses.isEmpty)
    ring.put(UInt8(ascii: "b"), at: Self.slotRequest + fieldOffset(\cs_ring_request.id))
    let damaged = try ring.contents()
    #expect(damaged.records.map(\.message) == ["message"] && damaged.records[0].request == nil)
    #expect(damaged.losses == ["requests": 1])
    // Now the length of the tags is invalid, but the CRC is correct.
    ring.set(\cs_ring_request.tag_bytes, at: Self.slotRequest, 300)
    ring.commitRequest(slot: 0)
    #expect(try ring.contents().records[0].request == nil)
  }

  @Test("a breadcrumb in a ring is read with the number of its request")
  func breadcrumbs() throws {
    let ring = TestRing()
    ring.addBreadcrumb(ticket: 0, "outside")
    ring.addBreadcrumb(ticket: 1, "inside")
    ring.set(\cs_ring_breadcrumb.request, at: TestRing.breadcrumb(1), 17)
    #expect(try ring.contents().breadcrumbs.map(\.request) == [nil, 17])
  }

  @Test("a ring of version 5 has no requests, and its breadcrumbs are eight bytes longer")
  func earlier() throws {
    let ring = TestRing(.earlier)
    let text = String(repeating: "a", count: 232)
    ring.addBreadcrumb(ticket: 0, text)
    ring.addRecord(slot: 0, message: "message")
    // In version 5 of the ring format, these bytes are reserved, and must not be read as a request.
    ring.addRequest(at: Self.slotRequest, number: 5)
    ring.useRequests(4_096)
    ring.set(\cs_ring_header.request_lookup, 2)
    let contents = try ring.contents()
    #expect(contents.breadcrumbs.map(\.text) == [text] && contents.breadcrumbs[0].request == nil)
    #expect(contents.records.map(\.message) == ["message"] && contents.records[0].request == nil)
    #expect(contents.requests == RingContents.Requests() && contents.losses.isEmpty)
  }

  @Test("a ring with the size of one version and the number of the other is refused", arguments: RingVersion.allCases)
  func mixed(version: RingVersion) {
    let ring = TestRing(version)
    let other: RingVersion = version == .current ? .earlier : .current
    ring.set(\cs_ring_header.version, other.number)
    #expect(throws: RingError.headerSize(found: UInt64(version.bytes), expected: UInt64(other.bytes))) {
      try ring.contents()
    }
    ring.set(\cs_ring_header.total_bytes, UInt64(other.bytes))
    #expect(throws: RingError.size(found: version.bytes, expected: other.bytes)) { try ring.contents() }
  }

  @Test("random bytes in the requests never trap the reader", arguments: UInt64(1)...3)
  func random(seed: UInt64) throws {
    var generator = SplitMix64(state: seed)
    let ring = TestRing()
    for offset in stride(from: TestRing.request(0), to: MemoryLayout<cs_ring>.size, by: 8) {
      ring.put(generator.next(), at: offset)
    }
    for index in 0..<4_096 {
      ring.set(\cs_ring_request.state, at: TestRing.request(index), generator.next() << 8 | generator.next() % 4)
      for field in [\cs_ring_request.operation_bytes, \.id_bytes, \.tag_bytes] {
        ring.set(field, at: TestRing.request(index), UInt16(generator.next() % 66))
      }
    }
    ring.useRequests(4_096)
    let contents = try ring.contents()
    #expect(contents.requests.running.count > 500)
    #expect(contents.requests.running.allSatisfy { $0.operation.utf8.count <= 3 * 96 && $0.id.utf8.count <= 3 * 64 })
  }

  @Test(
    "a mapped ring of each version is read without an allocation of pages for its unused requests",
    arguments: RingVersion.allCases)
  func mapped(version: RingVersion) throws {
    let file = try TestFile.memory()
    defer { file.close() }
    let whole = TestRing(version)
    if version == .current {
      whole.addRequest(0, number: 1)
      whole.addRequest(4_000, number: 2)
    }
    try file.writePages(of: whole)
    try file.seal()
    let mapping = try RingMapping(descriptor: file.descriptor)
    let before = try file.blocks()
    let requests = mapping.contents(usedBy: file.descriptor).requests
    #expect(requests.running.map(\.number) == (version == .current ? [1, 2] : []))
    #expect(mapping.requestCounts().begun == (version == .current ? 4_001 : 0))
    #expect(try file.blocks() - before <= 2 * 4_096 / 512)
  }
}
