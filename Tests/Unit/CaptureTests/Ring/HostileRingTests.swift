import CShimRing
import CrashReport
import CrashRing
import Dispatch
import Glibc
import Synchronization
import TestKit
import Testing

/// Checks the properties that must hold for a ring with any contents.
private func expectSane(_ contents: RingContents) {
  #expect(contents.images.count <= 512 && contents.images.allSatisfy { $0.start < $0.end && $0.bias <= $0.start })
  #expect(contents.records.count <= 64 && contents.breadcrumbs.count <= 128 && contents.annotations.count <= 64)
  #expect(contents.losses.values.allSatisfy { $0 > 0 })
  for record in contents.records {
    #expect(record.frames.count <= 256 && record.frameHead <= record.frames.count)
    #expect(record.frameTotal >= record.frames.count { !$0.isAsync } && record.registers.count <= 34)
    #expect(record.stack.count <= 65536 && record.message.utf8.count <= 3 * 2048)
    let indices = Set(contents.images.map(\.index))
    #expect(record.frames.allSatisfy { $0.image.map(indices.contains) ?? true })
  }
}

@Suite("A hostile ring")
struct HostileRingTests {
  /// A ring that has an entry of each kind.
  private func fullRing() -> TestRing {
    let ring = TestRing()
    ring.addImage(0, start: 0x1000)
    ring.addAnnotation(0, "key", "value")
    ring.addBreadcrumb(ticket: 0, "crumb")
    ring.addRecord(
      slot: 0, message: "message", frames: [cs_ring_frame(0x1010, image: 0), cs_ring_frame(0x1020, image: 0)],
      stack: [1, 2, 3, 4])
    return ring
  }

  @Test("random bytes after a valid header never trap the reader", arguments: UInt64(1)...3)
  func random(seed: UInt64) throws {
    var generator = SplitMix64(state: seed)
    let ring = TestRing()
    for offset in stride(from: 56, to: MemoryLayout<cs_ring>.size, by: 8) { ring.put(generator.next(), at: offset) }
    let contents = try ring.contents()
    expectSane(contents)
    #expect(contents.records.isEmpty)
  }

  @Test("random records with a correct CRC never trap the reader", arguments: UInt64(1)...4)
  func randomCommitted(seed: UInt64) throws {
    var generator = SplitMix64(state: seed)
    let ring = TestRing()
    for index in 0..<512 { ring.addImage(index, start: generator.next() >> (1 + generator.next() % 60)) }
    for slot in 0..<64 {
      let base = TestRing.record(slot)
      for offset in stride(from: 0, to: MemoryLayout<cs_ring_record>.size, by: 8) {
        ring.put(generator.next(), at: base + offset)
      }
      ring.set(\cs_ring_record.signal, at: base, Int32(generator.next() % 65))
      ring.set(\cs_ring_record.frame_count, at: base, UInt32(generator.next() % 258))
      ring.set(\cs_ring_record.frame_head, at: base, 0)
      ring.set(\cs_ring_record.stack_bytes, at: base, 0)
      ring.set(\cs_ring_record.registers.general_count, at: base, generator.next() % 36)
      let counts = [
        \cs_ring_record.instruction_bytes, \.message_bytes, \.abort_bytes, \.exception_bytes, \.exception_text_bytes,
        \.task_name_bytes, \.memory_count,
      ]
      for field in counts { ring.set(field, at: base, UInt32(generator.next() % 17)) }
      ring.commit(slot: slot, generation: generator.next() >> 2)
    }
    let contents = try ring.contents()
    expectSane(contents)
    #expect(contents.records.count > 40)
  }

  @Test("the reader does not trap at any value of any byte of a ring", arguments: [UInt8(0x00), 0x7f, 0x80, 0xff])
  func everyField(value: UInt8) {
    let record = TestRing.record(0)
    let frame = record + fieldOffset(\cs_ring_record.frames)
    let places = [
      24..<104, TestRing.image(0)..<TestRing.image(0) + 33, TestRing.annotation(0)..<TestRing.annotation(0) + 9,
      TestRing.breadcrumb(0)..<TestRing.breadcrumb(0) + 25, TestRing.slot(0)..<TestRing.slot(0) + 24,
      record..<record + 112, record + 112 + 34 * 8..<record + 457, frame..<frame + 24,
    ]
    for offset in places.joined() {
      let ring = fullRing()
      ring.put(value, at: offset)
      if offset >= record { ring.commit(slot: 0, stackBytes: 4) }
      #expect(throws: Never.self) { expectSane(try ring.contents()) }
    }
  }

  @Test("a length above its limit makes a record corrupt, even with a correct CRC")
  func lengths() throws {
    let limits: [(KeyPath<cs_ring_record, UInt32>, Int32)] = [
      (\.frame_count, CS_RING_FRAME_LIMIT), (\.instruction_bytes, CS_RING_INSTRUCTION_LIMIT_BYTES),
      (\.message_bytes, CS_RING_MESSAGE_LIMIT_BYTES), (\.abort_bytes, CS_RING_ABORT_LIMIT_BYTES),
      (\.exception_bytes, CS_RING_EXCEPTION_LIMIT_BYTES),
      (\.exception_text_bytes, CS_RING_EXCEPTION_TEXT_LIMIT_BYTES), (\.task_name_bytes, CS_RING_TASK_NAME_LIMIT_BYTES),
      (\.memory_count, CS_RING_MEMORY_LIMIT),
    ]
    for (field, limit) in limits {
      for (length, isGood) in [(UInt32(limit), true), (UInt32(limit) + 1, false), (.max, false)] {
        let ring = fullRing()
        ring.set(field, at: TestRing.record(0), length)
        ring.commit(slot: 0, stackBytes: 4)
        let contents = try ring.contents()
        #expect(contents.records.count == (isGood ? 1 : 0))
        #expect(contents.losses == (isGood ? [:] : ["corrupt": 1]))
      }
    }
    let ring = fullRing()
    ring.set(\cs_ring_record.stack_bytes, at: TestRing.record(0), .max)
    ring.commit(slot: 0, stackBytes: Int(CS_RING_STACK_LIMIT_BYTES))
    #expect(try ring.contents().losses == ["corrupt": 1])
  }

  @Test(
    "a record's string about a mapped file is read as a file only if it has an offset and an absolute path",
    arguments: [
      ("100 /srv/prices.db", true), ("0 /a", true), ("18446744073709551615 /a", true),
      ("18446744073709551616 /a", false),
      ("-1 /a", false), ("100", false), ("100 prices.db", false), ("/srv/prices.db", false), ("", false), (" ", false),
    ])
  func mappedFile(text: String, isOne: Bool) throws {
    let ring = fullRing()
    ring.set(\cs_ring_record.flags, at: TestRing.record(0), UInt32(CS_RING_RECORD_FILE))
    ring.set(\cs_ring_record.exception_text_bytes, at: TestRing.record(0), UInt32(text.utf8.count))
    ring.setBytes(\cs_ring_record.exception_text, at: TestRing.record(0), text.utf8)
    ring.commit(slot: 0, stackBytes: 4)
    let record = try #require(try ring.contents().records.first)
    #expect(record.exceptionText.isEmpty)
    #expect((record.mappedFile != nil) == isOne)
    if let file = record.mappedFile { #expect("\(file.offset) \(file.path)" == text) }
  }

  @Test("a record that is rewritten during a read is either read completely or counted as lost")
  func concurrentWriter() throws {
    let shared = SharedRing()
    shared.ring.addRecord(slot: 0, message: "a", stack: [UInt8](repeating: 0x61, count: 4096))
    startThread { shared.write() }
    defer {
      shared.isDone.store(true, ordering: .relaxed)
      shared.hasEnded.wait()
    }
    var seen: Set<String> = []
    var losses = 0
    while (shared.readCount < 200 || seen.count < 2 || losses == 0) && shared.readCount < 100_000 {
      let contents = try shared.ring.contents()
      shared.reads.add(1, ordering: .releasing)
      losses += contents.losses.values.reduce(0, +)
      #expect(contents.records.count + contents.losses.values.reduce(0, +) == 1)
      if let record = contents.records.first {
        seen.insert(record.message)
        #expect(record.stack == [UInt8](repeating: record.message == "a" ? 0x61 : 0x62, count: 4096))
      }
    }
    #expect(seen == ["a", "b"] && losses > 0)
  }
}

/// A ring that one thread writes while another thread reads it.
///
/// Invariant: this data race is intended, because the test is about it.
private final class SharedRing: @unchecked Sendable {
  let ring = TestRing()
  let isDone = Atomic(false)
  let reads = Atomic(0)
  let hasEnded = DispatchSemaphore(value: 0)

  var readCount: Int { reads.load(ordering: .acquiring) }

  /// Writes the record again and again, with the contents "a" and "b" in turn, until the test is done.
  ///
  /// Between two writes, the reader completes zero, one or two reads. So some reads meet a write, and others do not.
  func write() {
    var generator = SplitMix64(state: 1)
    var isA = true
    while !isDone.load(ordering: .relaxed) {
      isA.toggle()
      ring.set(\cs_ring_slot.state, at: TestRing.slot(0), UInt64(CS_RING_STATE_WRITING))
      ring.addRecord(
        slot: 0, message: isA ? "a" : "b", stack: [UInt8](repeating: isA ? 0x61 : 0x62, count: 4096))
      let next = readCount + Int(generator.next() % 3)
      while readCount < next && !isDone.load(ordering: .relaxed) { sched_yield() }
    }
    hasEnded.signal()
  }
}
