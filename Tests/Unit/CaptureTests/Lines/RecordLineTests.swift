import CShimRing
import CTestKit
import CrashReport
import CrashRing
import Testing

@Suite("The record line", .serialized)
struct RecordLineTests {
  @Test("the line has the crash that the ring has: frames, images, registers, message, request and annotations")
  func whole() throws {
    let ring = Self.ring(frames: 40)
    let line = Lines.record(ring)
    let decoded = try #require(DecodedLine(in: line))
    let (before, after) = (try ring.contents(), try decoded.ring.contents())
    let (expected, found) = (try #require(before.records.first), try #require(after.records.first))
    #expect(decoded.head.dropFirst(1).allSatisfy { $0 == 0 })
    #expect(after.identity == before.identity)
    #expect(found.frames.map(\.pc) == expected.frames.map(\.pc))
    #expect(Self.places(after) == Self.places(before))
    #expect(found.registers == expected.registers && found.message == expected.message)
    #expect(found.tid == expected.tid && found.signal == expected.signal && found.address == expected.address)
    #expect(found.request == expected.request && found.request != nil)
    #expect(found.stack == expected.stack && found.memory == expected.memory)
    #expect(after.annotations == before.annotations)
    #expect(after.losses.isEmpty)
  }

  @Test("a line of any ring has at most 4,096 bytes, is one line of base64url, and decodes", arguments: 0..<60)
  func limit(seed: Int) throws {
    var random = SeededNumbers(seed: UInt64(seed))
    let ring = Self.wildRing(&random)
    let line = Lines.record(ring)
    #expect(line.utf8.count <= Int(CS_RECORD_LINE_LIMIT_BYTES))
    #expect(line.hasPrefix(CS_RECORD_LINE_PREFIX) && line.hasSuffix("\n"))
    let payload = line.dropFirst(CS_RECORD_LINE_PREFIX.count).dropLast()
    #expect(payload.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-" || $0 == "_") })
    let decoded = try #require(DecodedLine(in: line))
    let (before, after) = (try ring.contents(), try decoded.ring.contents())
    let (expected, found) = (try #require(before.records.first), try #require(after.records.first))
    // The line can omit items at the end of a list, such as frames. It has the number of omitted items, and the first
    // items of the list.
    #expect(found.frames.count + decoded.head[1] == expected.frames.count)
    #expect(found.frames.map(\.pc) == expected.frames.prefix(found.frames.count).map(\.pc))
    #expect(expected.message.hasPrefix(found.message))
    #expect(after.annotations.allSatisfy { before.annotations[$0.key] == $0.value })
    #expect(after.annotations.count + decoded.head[4] == before.annotations.count)
    #expect(expected.stack.starts(with: found.stack))
  }

  @Test("a record line has space for a recursion of 256 frames, because the frames repeat")
  func recursion() throws {
    let ring = Self.ring(frames: 256, distinct: 2)
    let decoded = try #require(DecodedLine(in: Lines.record(ring)))
    #expect(decoded.head[1] == 0)
    #expect(Self.places(try decoded.ring.contents()) == Self.places(try ring.contents()))
  }

  @Test("of 256 distinct frames, the record line has the innermost; the report states how many are missing")
  func deep() throws {
    let ring = Self.ring(frames: 256, message: String(repeating: "x", count: 2_000))
    let decoded = try #require(DecodedLine(in: Lines.record(ring)))
    let record = try #require(try decoded.ring.contents().records.first)
    #expect(decoded.head[1] > 0 && record.frames.count > 60 && record.frameTotal == 256)
    #expect(record.message.utf8.count >= 384)
  }

  @Test("a record line is decoded behind a log prefix, before a suffix and inside of a JSON string")
  func wrapped() throws {
    let line = Lines.record(Self.ring(frames: 5)).dropLast()
    let logs = [
      "2026-11-29T12:00:00.000Z stderr F \(line)", #"{"log":"\#(line)\n","stream":"stderr"}"#, "[app] \(line)|end",
    ]
    for log in logs { #expect(DecodedLine(in: log) != nil) }
  }

  @Test("a record line that is cut or has a changed character is refused")
  func damaged() throws {
    let line = Lines.record(Self.ring(frames: 5)).dropLast()
    for size in [22, 40, line.count / 2, line.count - 1] { #expect(DecodedLine(in: String(line.prefix(size))) == nil) }
    var changed = Array(line)
    changed[line.count / 2] = changed[line.count / 2] == "A" ? "B" : "A"
    #expect(DecodedLine(in: String(changed)) == nil)
  }

  @Test(
    "the record line of a non-dumpable process has no addresses, registers, messages, annotations, request or memory")
  func bare() throws {
    let ring = Self.ring(frames: 20)
    let contents = try #require(DecodedLine(in: Lines.record(ring, isBare: true))).ring.contents()
    let record = try #require(contents.records.first)
    #expect(record.isBare && contents.memory.isRestricted)
    #expect(record.registers.isEmpty && record.address == 0 && record.message.isEmpty && record.request == nil)
    #expect(record.stack.isEmpty && record.memory.isEmpty && contents.annotations.isEmpty)
    let before = try ring.contents()
    #expect(Self.places(contents) == Self.places(before))
    #expect(Set(contents.images.map(\.start)).isDisjoint(with: before.images.map(\.start)))
  }

  @Test("a cut image is counted once, and annotations about the deployment leave space for images and frames")
  func cutImages() throws {
    let ring = Self.ring(frames: 0)
    for index in 0..<60 {
      ring.addImage(
        index, start: 0x7f00_1000_0000 + UInt64(index) * 0x10_0000, path: "/lib/" + String(repeating: "i", count: 200),
        buildID: (0..<32).map { UInt8(truncatingIfNeeded: index &* 31 &+ $0 &* $0) })
    }
    let frames = (0..<180).map { cs_ring_frame(0x7f00_1000_0000 + UInt64($0 % 60) * 0x10_0000, image: UInt16($0 % 60)) }
    for index in 2..<8 { ring.addAnnotation(index, "k8s.\(index)", String(repeating: "v", count: 400)) }
    ring.addRecord(slot: 0, frames: frames)
    let decoded = try #require(DecodedLine(in: Lines.record(ring)))
    let contents = try decoded.ring.contents()
    #expect(decoded.head[2] > 0 && contents.images.count + decoded.head[2] == 60)
    #expect(contents.records[0].frames.count > 10 && !contents.images.isEmpty)
  }

  @Test("the record line has only incidents that describe this crash", arguments: [0, 0x1234] as [UInt64])
  func incidents(address: UInt64) throws {
    let ring = Self.ring(frames: 3)
    ring.set(\cs_ring_record.address, at: TestRing.record(0), address)
    ring.commit(slot: 0, stackBytes: 64)
    let cases: [(kind: UInt32, method: UInt64, amount: Int64, tid: Int32)] = [
      (1, 0, 0, 4712), (1, 0x4010, 0, 4712), (1, address, 5, 4712), (7, address, 0, 4712), (8, address, 1, 4712),
      (7, address, 0, 99),
    ]
    for (index, incident) in cases.enumerated() {
      let base = TestRing.incident(index)
      ring.addIncident(index, key: UInt64(index + 1), subject: "Cart", first_ns: 1, use: [0x4000])
      ring.set(\cs_ring_incident.kind, at: base, incident.kind)
      ring.set(\cs_ring_incident.method, at: base, incident.method)
      ring.set(\cs_ring_incident.amount, at: base, incident.amount)
      ring.set(\cs_ring_incident.use_tid, at: base, incident.tid)
    }
    let decoded = try #require(DecodedLine(in: Lines.record(ring)))
    let found = try decoded.ring.contents().incidents.map(\.key)
    #expect(found.sorted() == (address == 0 ? [4] : [3, 4]))
  }

  @Test("the record line counts the other threads that crashed, but not withdrawn records")
  func threads() throws {
    let ring = Self.ring(frames: 3)
    ring.addRecord(slot: 2, sequence: 2)
    ring.set(\cs_ring_header.slot_head, UInt64(4))
    #expect(try #require(DecodedLine(in: Lines.record(ring))).head[8] == 1)
  }

  @Test("decoding returns the coded words, and a size limit cuts them at a multiple of the step", arguments: 0..<40)
  func words(seed: Int) throws {
    var random = SeededNumbers(seed: UInt64(seed))
    let words = (0..<300).map { _ in random.word() }
    let (coded, count) = Lines.words(words, step: 3, limit: seed % 2 == 0 ? 100_000 : 400 + 10 * seed)
    #expect(count == words.count || count % 3 == 0)
    #expect(seed % 2 != 0 || count == words.count)
    var reader = DecodedLine.Reader(bytes: coded[4...])
    #expect(reader.words(count) == Array(words.prefix(count)))
    #expect(reader.bytes.isEmpty)
  }
}

extension RecordLineTests {
  @Test("if a repeat ends inside a step and the next word does not fit, the whole steps of the repeat are kept")
  func cutRepeat() {
    var random = SeededNumbers(seed: 7)
    let distinct = (0..<15).map { _ in random.next() }
    let words = distinct + distinct + [distinct[0], random.next(), random.next()]
    let whole = Lines.words(words, step: 3, limit: 1_000)
    #expect(whole.count == 33)
    let (coded, count) = Lines.words(words, step: 3, limit: whole.piece.count - 1)
    #expect(count == 30)
    var reader = DecodedLine.Reader(bytes: coded[4...])
    #expect(reader.words(count) == Array(words.prefix(count)) && reader.bytes.isEmpty)
  }
}

extension RecordLineTests {
  /// Describes each frame by the path and the build ID of its image, and by its offset.
  private static func places(_ contents: RingContents) -> [String] {
    let images = Dictionary(uniqueKeysWithValues: contents.images.map { ($0.index, $0) })
    return contents.records[0].frames.map { frame in
      guard let image = frame.image.flatMap({ images[$0] }) else { return "\(frame.pc)" }
      let start = frame.functionStart.map { "\($0 - image.bias)" } ?? "-"
      return
        "\(image.path) \(image.buildID) \(frame.pc - image.bias) \(start) \(frame.trust) \(frame.isExact) \(frame.isAsync)"
    }
  }

  /// A ring with one crash in slot 0.
  private static func ring(
    frames: Int, distinct: Int = .max, message: String = "Fatal error: Index out of range"
  ) -> TestRing {
    let ring = TestRing()
    for index in 0..<3 {
      ring.addImage(
        index, start: 0x7f00_1000_0000 + UInt64(index) * 0x10_0000,
        path: index == 0 ? "/srv/server" : "/lib/\(index).so",
        buildID: (0..<20).map { UInt8(16 * index + $0) }, flags: index == 0 ? 1 : 0)
    }
    let list = (0..<frames).map { index in
      let number = UInt64(index % distinct)
      let image = number % 3
      var frame = cs_ring_frame(
        0x7f00_1000_0000 + image * 0x10_0000 + 0x500 + number * 10, image: UInt16(image), flags: index == 0 ? 1 : 0,
        trust: index == 0 ? 1 : 2)
      frame.function_start = frame.pc - number * 377 % 1_201
      return frame
    }
    ring.addAnnotation(0, "release", "shop@1.4.2")
    ring.addAnnotation(1, "region", "eu")
    ring.addRequest(at: TestRing.slot(0) + fieldOffset(\cs_ring_slot.request), number: 7, id: "r-7", tags: "user\0u1\0")
    ring.commitRequest(slot: 0)
    ring.addRecord(slot: 0, message: message, frames: list, stack: (0..<64).map { UInt8($0) })
    ring.set(\cs_ring_header.slot_head, UInt64(1))
    return ring
  }

  /// A ring with one crash whose parts have random sizes and contents.
  private static func wildRing(_ random: inout SeededNumbers) -> TestRing {
    let ring = TestRing()
    let images = 1 + random.below(60)
    for index in 0..<images {
      ring.addImage(
        index, start: 0x7f00_1000_0000 + UInt64(index) * 0x10_0000,
        path: "/" + String(repeating: "p", count: random.below(300)) + "/\(index).so",
        buildID: (0..<random.below(33)).map { _ in UInt8(truncatingIfNeeded: random.next()) },
        flags: index == 0 ? 1 : 0)
    }
    let frames = (0..<random.below(257)).map { _ in
      let image = random.below(images)
      return cs_ring_frame(
        0x7f00_1000_0000 + UInt64(image) * 0x10_0000 + 1 + UInt64(random.below(0xfff)), image: UInt16(image))
    }
    for index in 0..<random.below(65) {
      ring.addAnnotation(
        index, index % 5 == 0 ? "k8s.\(index)" : "key\(index)", String(repeating: "v", count: 1 + random.below(440)))
    }
    let stack = (0..<(8 * random.below(4_000))).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    ring.addRecord(
      slot: 0, message: String(repeating: "m", count: random.below(2_048)), frames: frames, stack: stack)
    for index in 0..<17 {
      ring.put(random.word(), at: TestRing.record(0) + fieldOffset(\cs_ring_record.registers.general) + 8 * index)
    }
    ring.commit(slot: 0, stackBytes: stack.count)
    ring.set(\cs_ring_header.slot_head, UInt64(1))
    return ring
  }
}
