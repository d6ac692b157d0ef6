import CShimRing
import CrashRing
import Testing

struct RingStampTests {
  @Test(
    "a ring's stamp (its state in short) changes with a committed record, a slot being written, or a thread's answer")
  func changes() throws {
    let file = try TestFile.memory()
    defer { file.close() }
    let ring = TestRing()
    ring.addRecord(slot: 0, message: "first")
    try file.write(ring)
    try file.seal()
    let mapping = try RingMapping(descriptor: file.descriptor)
    let first = mapping.stamp(usedBy: file.descriptor)
    #expect(first.isSettled && first == mapping.stamp(usedBy: file.descriptor) && first == mapping.stamp())

    ring.addRecord(slot: 1, message: "second")
    try file.write(ring)
    let second = mapping.stamp(usedBy: file.descriptor)
    #expect(second.isSettled && second != first)

    ring.set(\cs_ring_slot.state, at: TestRing.slot(2), UInt64(CS_RING_STATE_WRITING))
    try file.write(ring)
    let writing = mapping.stamp(usedBy: file.descriptor)
    #expect(!writing.isSettled && writing != second)

    ring.set(\cs_ring_slot.state, at: TestRing.slot(2), 0)
    ring.set(\cs_ring_header.thread_count, 1)
    try file.write(ring)
    let asked = mapping.stamp(usedBy: file.descriptor)
    #expect(!asked.isSettled && asked != second)
  }

  @Test("the stamp of a ring changes with a loss counter, but not with annotations and breadcrumbs")
  func rest() throws {
    let file = try TestFile.memory()
    defer { file.close() }
    let ring = TestRing()
    ring.addRecord(slot: 0, message: "first")
    try file.write(ring)
    try file.seal()
    let mapping = try RingMapping(descriptor: file.descriptor)
    let before = mapping.stamp(usedBy: file.descriptor)
    ring.addAnnotation(0, "key", "value")
    ring.addBreadcrumb(ticket: 0, "line")
    try file.write(ring)
    #expect(mapping.stamp(usedBy: file.descriptor) == before)
    #expect(mapping.contents(usedBy: file.descriptor).annotations == ["key": "value"])
    #expect(mapping.contents(usedBy: file.descriptor).breadcrumbs.map(\.text) == ["line"])
    ring.set(\cs_ring_header.slot_lost, 1)
    try file.write(ring)
    #expect(mapping.stamp(usedBy: file.descriptor) != before)
  }

  @Test(
    "a ring's stamp changes with the drain, and not in a ring of an earlier version", arguments: RingVersion.allCases)
  func drain(version: RingVersion) throws {
    let file = try TestFile.memory()
    defer { file.close() }
    let ring = TestRing(version)
    ring.addRecord(slot: 0, message: "first")
    try file.writePages(of: ring)
    try file.seal()
    let mapping = try RingMapping(descriptor: file.descriptor)
    var stamps = [mapping.stamp(usedBy: file.descriptor)]
    for (end, finished) in [(UInt32(0), UInt32(0)), (0, 5), (1, 5)] {
      ring.setDrain(end, finished: finished)
      try file.writePages(of: ring)
      let stamp = mapping.stamp(usedBy: file.descriptor)
      #expect(stamp.isSettled && (stamp == stamps.last) == (version == .earlier))
      stamps.append(stamp)
    }
  }

  @Test("an impossible thread count in a ring causes no read beyond the ring")
  func hostile() throws {
    let file = try TestFile.memory()
    defer { file.close() }
    let ring = TestRing()
    ring.set(\cs_ring_header.thread_count, UInt32.max)
    ring.set(\cs_ring_header.survived, UInt32.max)
    for slot in 0..<Int(CS_RING_SLOT_LIMIT) {
      ring.set(\cs_ring_slot.state, at: TestRing.slot(slot), UInt64.max)
    }
    try file.write(ring)
    try file.seal()
    #expect(try !RingMapping(descriptor: file.descriptor).stamp(usedBy: file.descriptor).isSettled)
  }

  @Test("a ring's identity and images are read without its records")
  func introduction() throws {
    let file = try TestFile.memory()
    defer { file.close() }
    let ring = TestRing()
    ring.addImage(0, start: 0x1000, path: "/srv/server")
    ring.addRecord(slot: 0, message: "first")
    try file.write(ring)
    try file.seal()
    let mapping = try RingMapping(descriptor: file.descriptor)
    let (identity, images) = mapping.introduction()
    let contents = mapping.contents()
    #expect(identity == contents.identity && images == contents.images && images.count == 1)
  }
}
