// The entry point for libFuzzer. An input is a list of patches to a valid ring (the file with a process's crash
// records), because a whole ring is too large to mutate. scripts/fuzz/readers builds this target together with
// TestRing.swift of Tests/Unit/CaptureTests.
import CShimRing
import CrashReport
import CrashRing
import Glibc

/// Reads a ring with the patches in `data`.
///
/// A trap, a finding of a sanitizer or a failed precondition ends the process.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzRingReader(_ data: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
  let input = Array(UnsafeBufferPointer(start: data, count: count))
  guard let flags = input.first else { return 0 }
  let ring = flags & 2 == 0 ? Rings.full : Rings.empty
  let pristine = flags & 2 == 0 ? Rings.pristineFull : Rings.pristineEmpty

  let patches = parse(input.dropFirst())
  var touched = patches.map { $0.offset..<$0.offset + $0.bytes.count }
  for patch in patches { ring.put(patch.bytes, at: patch.offset) }
  if flags & 1 != 0 {
    for slot in Set(patches.compactMap(\.slot)) {
      ring.commitAsIs(slot: slot)
      touched.append(TestRing.slot(slot)..<TestRing.slot(slot) + 24)
      let crc = TestRing.slot(slot) + fieldOffset(\cs_ring_slot.request_crc)
      touched.append(crc..<crc + 4)
    }
  }
  if flags & 1 != 0 {
    for thread in Set(patches.compactMap(\.thread)) {
      ring.commit(thread: thread)
      touched.append(TestRing.thread(thread)..<TestRing.thread(thread) + 16)
    }
  }
  do { check(try ring.contents()) } catch { precondition(!"\(error)".isEmpty) }
  for range in touched { ring.restore(range, from: pristine) }
  return 0
}

/// The rings that the inputs patch, and the copies from which the target restores the rings.
private enum Rings {
  nonisolated(unsafe) static let full = makeFull()
  nonisolated(unsafe) static let pristineFull = makeFull()
  nonisolated(unsafe) static let empty = TestRing()
  nonisolated(unsafe) static let pristineEmpty = TestRing()

  private static func makeFull() -> TestRing {
    let ring = TestRing()
    ring.addImage(0, start: 0x40_0000, path: "/srv/server", flags: 1)
    ring.addImage(1, start: 0x7f00_0000_0000, path: "/lib/libc.so.6")
    ring.addAnnotation(0, "version", "1.2.3")
    ring.addHandler(0, signal: 11, .CS_RING_HANDLER_REPLACED, address: 0x40_0010)
    ring.addBreadcrumb(ticket: 0, "started")
    ring.addBreadcrumb(ticket: 129, "GET /", level: 3, category: "http", metadata: "id\07F3A\0")
    ring.addIncident(0, key: 1, subject: "App.Session", first_ns: 1, use: [0x40_0010], free: [0x40_0020])
    ring.addClass(0, "App.Session", admitted: 1)
    ring.addRequest(
      at: TestRing.request(0), number: 1, operation: "GET /cart", id: "7F3A", trace: Array(1...16), tags: "tier\0gold\0"
    )
    ring.addRequest(1, number: 2)
    for slot in 0..<2 {
      ring.addRecord(
        slot: slot, sequence: UInt64(slot), message: "Fatal error: Index out of range\n",
        frames: [cs_ring_frame(0x40_0010, image: 0, flags: 1, trust: 1), cs_ring_frame(0x7f00_0000_0020, image: 1)],
        stack: Array(0..<64))
      ring.addRequest(at: TestRing.slotRequest(slot), number: 1, id: "7F3A")
      ring.commitRequest(slot: slot)
      ring.addThread(slot, tid: Int32(slot), name: "worker", frames: [cs_ring_frame(0x40_0010, image: 0)])
    }
    return ring
  }
}

/// Bytes to write into the ring.
private struct Patch {
  var offset: Int
  var bytes: ArraySlice<UInt8>
  /// The index of the record slot that the patch changes, or nil.
  var slot: Int?
  /// The index of the entry in the thread table that the patch changes, or nil.
  var thread: Int?
}

/// Parses the patches of an input.
///
/// A patch consists of a part of the ring, an index, an offset (two bytes), a length, and the bytes to write.
private func parse(_ input: ArraySlice<UInt8>) -> [Patch] {
  var patches: [Patch] = []
  var rest = input
  while rest.count > 5 && patches.count < 64 {
    let head = Array(rest.prefix(5))
    rest = rest.dropFirst(5)
    let part = part(head[0], index: Int(head[1]))
    let offset = (Int(head[2]) << 8 | Int(head[3])) % part.range.count
    let bytes = rest.prefix(min(Int(head[4]), part.range.count - offset))
    rest = rest.dropFirst(Int(head[4]))
    patches.append(Patch(offset: part.range.lowerBound + offset, bytes: bytes, slot: part.slot, thread: part.thread))
  }
  return patches
}

private func part(_ kind: UInt8, index: Int) -> (range: Range<Int>, slot: Int?, thread: Int?) {
  typealias Part = (range: Range<Int>, slot: Int?, thread: Int?)
  func part(_ start: Int, _ size: Int, slot: Int? = nil, thread: Int? = nil) -> Part {
    (start..<start + size, slot, thread)
  }
  switch kind % 15 {
  // This range of the header starts after magic, version, architecture and size, whose checks a few inputs cover.
  case 0: return part(24, 512)
  case 1: return part(TestRing.image(index), MemoryLayout<cs_ring_image>.size)
  case 2: return part(TestRing.annotation(index % 64), MemoryLayout<cs_ring_annotation>.size)
  case 3: return part(TestRing.breadcrumb(index % 128), MemoryLayout<cs_ring_breadcrumb>.size)
  case 4: return part(TestRing.record(index % 64), MemoryLayout<cs_ring_record>.size, slot: index % 64)
  case 5: return part(TestRing.stack(index % 64), Int(CS_RING_STACK_LIMIT_BYTES), slot: index % 64)
  case 6: return part(TestRing.slot(index % 64), 24)
  case 7: return part(0, 24)
  case 8:
    return part(TestRing.threadRecord(index % 8), MemoryLayout<cs_ring_thread_record>.size, thread: index % 8)
  case 10: return part(TestRing.incident(index), MemoryLayout<cs_ring_incident>.size)
  case 11: return part(TestRing.protectedClass(index), MemoryLayout<cs_ring_class>.size)
  case 12: return part(TestRing.request(index), MemoryLayout<cs_ring_request>.size)
  case 13: return part(TestRing.slotRequest(index % 64), MemoryLayout<cs_ring_request>.size, slot: index % 64)
  // The header's fields about requests, containment and the drain.
  case 14: return part(fieldOffset(\cs_ring_header.request_lookup), 96)
  default: return part(TestRing.thread(index % 8), 16)
  }
}

extension TestRing {
  /// Makes the bytes of a slot a valid record: stores their CRC, over as much of the stack as the record states.
  fileprivate func commitAsIs(slot: Int) {
    let at = TestRing.record(slot) + fieldOffset(\cs_ring_record.stack_bytes)
    let wanted = memory.load(fromByteOffset: at, as: UInt32.self)
    commit(slot: slot, stackBytes: Int(min(wanted, UInt32(CS_RING_STACK_LIMIT_BYTES))))
    commitRequest(slot: slot)
  }

  fileprivate static func slotRequest(_ slot: Int) -> Int { Self.slot(slot) + fieldOffset(\cs_ring_slot.request) }

  fileprivate func restore(_ range: Range<Int>, from other: TestRing) {
    memory[range].copyBytes(from: other.memory[range])
  }
}

/// Checks the reader's postconditions, which must hold for any bytes.
private func check(_ contents: RingContents) {
  precondition(contents.images.count <= 512 && contents.annotations.count <= 64)
  precondition(contents.breadcrumbs.count <= 128 && contents.records.count <= 64)
  precondition(contents.losses.values.allSatisfy { $0 > 0 })
  let images = Dictionary(uniqueKeysWithValues: contents.images.map { ($0.index, $0) })
  for record in contents.records {
    precondition((1...64).contains(record.signal) && record.registers.count <= 34 && record.instruction.count <= 16)
    precondition(record.frames.count <= 256 && record.frameHead <= record.frames.count)
    precondition(record.frames.count { !$0.isAsync } <= record.frameTotal)
    for frame in record.frames {
      guard let index = frame.image else { continue }
      guard let image = images[index] else { preconditionFailure("no image \(index)") }
      precondition(image.start <= frame.pc && frame.pc <= image.end)
    }
    precondition(
      record.memory.count <= 17 && record.memory.allSatisfy { $0.bytes.count <= 128 && $0.bytes.count % 8 == 0 })
    precondition(CleanText.line(record.objectClass) == record.objectClass)
    precondition(record.mappedFile.map { CleanText.line($0.path) == $0.path } ?? true)
    for text in [record.message, record.abortMessage, record.exceptionType, record.exceptionText, record.threadName] {
      precondition(CleanText.clean(text) == text)
    }
  }
  precondition(contents.threads.count <= 1024)
  for thread in contents.threads {
    precondition(thread.registers.count <= 34 && thread.frames.count <= 150 && thread.frameHead <= thread.frames.count)
    precondition(thread.frames.allSatisfy { $0.image == nil || images[$0.image ?? -1] != nil })
    precondition(CleanText.line(thread.name) == thread.name && thread.runState.count <= 1)
  }
  precondition(contents.incidents.count <= 256 && contents.protectedClasses.count <= 512)
  for incident in contents.incidents {
    precondition(incident.count > 0 && incident.use.count <= 16 && (incident.record?.stack.count ?? 0) <= 16)
    precondition((incident.record?.origin.count ?? 0) <= 16)
    precondition(CleanText.line(incident.subject) == incident.subject)
  }
  precondition(contents.protectedClasses.allSatisfy { CleanText.line($0.name) == $0.name })
  precondition(contents.requests.running.count <= 4_096)
  precondition(contents.requests.trapped.count <= 4_096)
  let requests = contents.requests.running + contents.requests.trapped + contents.records.compactMap(\.request)
  for request in requests {
    precondition(request.number > 0 && CleanText.line(request.operation) == request.operation)
    precondition(CleanText.line(request.id) == request.id && request.tags.count <= 128)
    precondition([0, 32].contains(request.traceID.utf8.count) && [0, 16].contains(request.spanID.utf8.count))
    for (key, value) in request.tags { precondition(CleanText.line(key) == key && CleanText.clean(value) == value) }
  }
  if let containment = contents.containment {
    precondition(!containment.mode.rawValue.isEmpty && containment.obstacle?.clause.isEmpty != true)
    precondition(containment.drain.map { $0.begin_ns > 0 && ($0.duration_ns ?? 0) <= $0.end_ns } != false)
  }
  for record in contents.records { precondition(record.verdictReason?.clause.isEmpty != true) }
  for image in contents.images { precondition(CleanText.line(image.path) == image.path) }
  for crumb in contents.breadcrumbs { precondition(CleanText.clean(crumb.text) == crumb.text) }
}
