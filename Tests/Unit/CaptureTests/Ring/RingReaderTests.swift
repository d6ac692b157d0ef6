import CShimRing
import CrashMaker
import CrashReport
@testable import CrashRing
import Testing

@Suite("RingReader")
struct RingReaderTests {
  @Test("a ring without entries has the identity of its process and no other contents")
  func empty() throws {
    let contents = try TestRing().contents()
    var identity = RingContents.Identity(
      ringID: "000102030405060708090a0b0c0d0e0f", pid: 4711, uid: 1000, startTime_ns: 1_000_000_000, name: "server",
      executable: "/srv/server")
    identity.architecture = try #require(.init(rawValue: CrashMaker.Architecture.current.rawValue))
    #expect(contents.identity == identity)
    #expect(contents.images.isEmpty && contents.records.isEmpty && contents.losses.isEmpty)
  }

  @Test(
    "F1: the report marks an executable that is not an absolute path as a label",
    arguments: ["-ex=shell id > /tmp/out", "server", "./server", "~/server", "\u{1b}/server"])
  func label(text: String) throws {
    let ring = TestRing()
    ring.setBytes(\cs_ring_header.executable, Array(text.utf8) + [0])
    let executable = try ring.contents().identity.executable
    #expect(executable.hasPrefix("not a path: ") && executable.dropFirst(12) == CleanText.line(text))
  }

  @Test("a ring with a wrong header is refused, and the error has the wrong value")
  func refusals() {
    func refusal(_ change: (TestRing) -> Void) -> RingError? {
      let ring = TestRing()
      change(ring)
      do {
        _ = try ring.contents()
        return nil
      } catch { return error as? RingError }
    }
    #expect(refusal { $0.set(\cs_ring_header.magic, 1) } == .magic(found: 1))
    #expect(refusal { $0.set(\cs_ring_header.version, 9) } == .version(found: 9))
    #expect("\(RingError.version(found: 9))".contains("this reader supports 5 and 6: "))
    #expect(refusal { $0.set(\cs_ring_header.total_bytes, 0) } == .headerSize(found: 0, expected: 12_095_488))
    guard case .architecture(77, _) = refusal({ $0.set(\cs_ring_header.architecture, 77) }) else {
      Issue.record("architecture 77 was not refused")
      return
    }
  }

  @Test(
    "a ring whose size is wrong is refused, and the error has the size",
    arguments: [0, 8, 4096, MemoryLayout<cs_ring>.size - 8])
  func wrongSize(size: Int) {
    let ring = TestRing()
    #expect(throws: RingError.size(found: size, expected: MemoryLayout<cs_ring>.size)) {
      // Invariant: the bytes are a part of the ring's own memory, and the ring exists until the call has returned.
      _ = try unsafe RingReader(bytes: UnsafeRawBufferPointer(rebasing: ring.memory[..<size]))
    }
    #expect(throws: RingError.size(found: 0, expected: MemoryLayout<cs_ring>.size)) {
      _ = try unsafe RingReader(bytes: UnsafeRawBufferPointer(start: nil, count: 0))
    }
  }

  @Test("a committed record is read completely")
  func record() throws {
    let ring = TestRing()
    ring.addImage(0, start: 0x40_0000, path: "/srv/server", flags: 1)
    ring.addRecord(
      slot: 3, sequence: 5, message: "Fatal error: Index out of range\n",
      frames: [cs_ring_frame(0x40_0010, image: 0, flags: 1, trust: 1), cs_ring_frame(0x40_0020, image: 0)],
      stack: [1, 2, 3])
    let contents = try ring.contents()
    let record = try #require(contents.records.first)
    #expect(contents.losses.isEmpty)
    #expect(record.slot == 3 && record.generation == 1 && record.sequence == 5 && record.commit_ns == 77)
    #expect(record.tid == 4712 && record.threadName == "worker")
    #expect(record.signal == 4 && record.code == 2 && record.address == 0x1234 && record.systemCall == nil)
    #expect(record.registers.count == 17 && record.flags == 0x246)
    #expect(record.message == "Fatal error: Index out of range")
    #expect(record.stack == [1, 2, 3] && record.stackStart == 0x7fff_0000)
    #expect(
      record.frames == [
        CrashRecord.Frame(
          pc: 0x40_0010, functionStart: nil, trust: .context, isExact: true, isAsync: false, image: 0),
        CrashRecord.Frame(
          pc: 0x40_0020, functionStart: nil, trust: .cfi, isExact: false, isAsync: false, image: 0),
      ])
  }

  @Test("records are read in the order of their crashes, not in the order of their slots")
  func order() throws {
    let ring = TestRing()
    for (slot, sequence) in [(0, 7), (1, 2), (63, 5)] { ring.addRecord(slot: slot, sequence: UInt64(sequence)) }
    #expect(try ring.contents().records.map(\.sequence) == [2, 5, 7])
  }

  @Test("a torn record is skipped and counted")
  func torn() throws {
    let ring = TestRing()
    ring.addRecord(slot: 0)
    ring.addRecord(slot: 1)
    ring.set(\cs_ring_slot.state, at: TestRing.slot(1), 1 << 2 | UInt64(CS_RING_STATE_WRITING))
    let contents = try ring.contents()
    #expect(contents.records.map(\.slot) == [0])
    #expect(contents.losses == ["torn": 1])
  }

  @Test("D10: a pending record is a crash only if its process has ended and no later record exists")
  func pending() throws {
    let ring = TestRing()
    ring.addRecord(slot: 0)
    ring.set(\cs_ring_slot.state, at: TestRing.slot(0), 1 << 2 | UInt64(CS_RING_STATE_PENDING))
    // Invariant: the memory belongs to the ring, which outlives the reader.
    let reader = try unsafe RingReader(bytes: UnsafeRawBufferPointer(ring.memory))
    #expect(reader.contents(hasEnded: false).records.isEmpty)
    #expect(reader.contents().records.map(\.slot) == [0])
    ring.addRecord(slot: 1)
    ring.set(\cs_ring_record.sequence, at: TestRing.record(1), 1)
    ring.commit(slot: 1)
    #expect(reader.contents().records.map(\.slot) == [1])
    // Now slot 0 is the later crash: the process survived the crash in slot 1, and ended by that in slot 0. The header
    // need not count the survived crash, because the handler updates the count only at the next crash.
    ring.set(\cs_ring_record.sequence, at: TestRing.record(0), 2)
    ring.commit(slot: 0)
    ring.set(\cs_ring_slot.state, at: TestRing.slot(0), 1 << 2 | UInt64(CS_RING_STATE_PENDING))
    for survived: UInt32 in [0, 2] {
      ring.set(\cs_ring_header.survived, survived)
      let contents = reader.contents()
      #expect(contents.records.map(\.slot) == [1, 0] && contents.losses.isEmpty)
    }
  }

  @Test("a record whose bytes changed after the commit is skipped and counted as corrupt")
  func corrupt() throws {
    let ring = TestRing()
    ring.addRecord(slot: 0, stack: [1, 2, 3, 4])
    ring.put(UInt8(9), at: TestRing.stack(0) + 3)
    ring.addRecord(slot: 1)
    ring.set(\cs_ring_record.tid, at: TestRing.record(1), 1)
    ring.set(\cs_ring_slot.state, at: TestRing.slot(2), 3)
    let contents = try ring.contents()
    #expect(contents.records.isEmpty)
    #expect(contents.losses == ["corrupt": 3])
  }

  @Test("the ring reader returns the header's loss counters by kind")
  func losses() throws {
    let ring = TestRing()
    ring.set(\cs_ring_header.slot_overwritten, 6)
    ring.set(\cs_ring_header.slot_lost, 2)
    ring.set(\cs_ring_header.record_minimal, 3)
    ring.set(\cs_ring_header.annotation_lost, 4)
    ring.set(\cs_ring_header.image_total, 5)
    #expect(
      try ring.contents().losses
        == ["overwritten": 6, "noSlot": 2, "minimal": 3, "annotations": 4, "images": 5])
  }

  @Test("the reader does not overflow if loss counters are at their limit")
  func extremeCounters() throws {
    let ring = TestRing()
    for field in [
      \cs_ring_header.slot_head, \.slot_lost, \.record_minimal, \.annotation_lost, \.breadcrumb_head,
      \.start_time_ns, \.slot_overwritten,
    ] {
      ring.set(field, UInt64.max)
    }
    ring.set(\cs_ring_header.image_total, UInt32.max)
    ring.addAnnotation(0, "a", "b", sequence: 1)
    let contents = try ring.contents()
    #expect(contents.losses["annotations"] == Int.max)
    #expect(contents.losses["noSlot"] == Int.max)
  }

  @Test("control characters in a ring never reach the contents that are read")
  func controlCharacters() throws {
    let ring = TestRing()
    ring.addRecord(slot: 0, message: "a\u{1b}]0;title\u{07}\u{85}\u{202e}b\tc\nd\n\n")
    let record = try #require(try ring.contents().records.first)
    #expect(record.message == "a␛]0;title␇\u{fffd}\u{fffd}b\tc\nd")
  }

  @Test("invalid UTF-8 in a ring is replaced by valid UTF-8")
  func repair() throws {
    let ring = TestRing()
    ring.addRecord(slot: 0)
    ring.setBytes(\cs_ring_record.message, at: TestRing.record(0), [0x61, 0xff, 0xc3, 0x62])
    ring.set(\cs_ring_record.message_bytes, at: TestRing.record(0), 4)
    ring.commit(slot: 0)
    #expect(try ring.contents().records.first?.message == "a\u{fffd}\u{fffd}b")
  }
}
