import CShimRing
import CrashRing
import Glibc
import LinuxSystem

/// A ring (the file in which a process records its crashes) without its empty parts.
///
/// The store saves the excerpt with a report, so that crashd can analyze the crash again.
///
/// The format begins with the string `CSRAW1`, two zero bytes, and the ring's size (8 bytes). Pieces follow. Each piece
/// consists of its offset (8 bytes), its size (8 bytes) and its bytes. All numbers are little-endian. All bytes of the
/// ring outside the pieces are zero.
enum RingExcerpt {
  static let magic = Array("CSRAW1\0\0".utf8)
  private static let block = 512

  /// Reads the used parts of a ring's file.
  ///
  /// The used parts are the header, the used entries of the image and class tables, the bytes between these tables, the
  /// used slots of crash records, the used entries of threads, and the running and trapped requests. The used slots end
  /// at the first unused slot, and the used entries of threads end at the first unused entry.
  /// - Parameters:
  ///   - descriptor: The descriptor of the ring's file.
  ///   - withoutMemory: Whether the memory of the program is omitted.
  /// - Returns: The excerpt.
  /// - Throws: `SystemError` if the file cannot be read.
  static func read(descriptor: Int32, withoutMemory: Bool = false) throws(SystemError) -> [UInt8] {
    let slot = MemoryLayout<cs_ring_slot>.size
    let thread = MemoryLayout<cs_ring_thread>.size
    let requests = RingVersion.earlier.bytes
    let threads = requests - thread * Int(CS_RING_THREAD_LIMIT)
    let slots = threads - slot * Int(CS_RING_SLOT_LIMIT)
    let version = try version(of: descriptor)
    var packed = start(version)
    var header = try bytes(of: descriptor, from: 0, to: MemoryLayout<cs_ring_header>.size)
    let parts = tables(of: header, before: slots)
    if withoutMemory { unsafe edit(&header) { unsafe cs_ring_header_withhold($0) } }
    packed += pieces(header, at: 0)
    for part in parts {
      packed += pieces(try bytes(of: descriptor, from: part.lowerBound, to: part.upperBound), at: part.lowerBound)
    }
    for (first, end, size) in [(slots, threads, slot), (threads, requests, thread)] {
      for offset in stride(from: first, to: end, by: size) {
        var element = try bytes(of: descriptor, from: offset, to: offset + size)
        // Stop at the first unused slot or thread, because slots and threads are used in order. A slot or thread begins
        // with its state, which is zero if it is unused.
        guard element.prefix(8).contains(where: { $0 != 0 }) else { break }
        if withoutMemory, size == slot { unsafe edit(&element) { unsafe cs_ring_slot_withhold($0) } }
        packed += pieces(element, at: offset)
      }
    }
    if version == .current { packed += try openRequests(of: descriptor, at: requests, header) }
    return packed
  }

  /// Returns the ring version of a file, according to the file's size; the size was checked before.
  private static func version(of descriptor: Int32) throws(SystemError) -> RingVersion {
    var status = stat()
    // fstat fills the struct whose address it gets.
    guard unsafe fstat(descriptor, &status) == 0 else { throw SystemError("read the size of a ring", code: errno) }
    return RingVersion.allCases.first { $0.bytes == Int(status.st_size) } ?? .current
  }

  /// Returns the entries of running and trapped requests.
  ///
  /// An entry of a request that has ended still has its texts, which must not appear in any report.
  private static func openRequests(
    of descriptor: Int32, at start: Int, _ header: [UInt8]
  ) throws(SystemError) -> [UInt8] {
    let size = MemoryLayout<cs_ring_request>.size
    let used = count(\.request_high, in: header, limit: CS_RING_REQUEST_LIMIT)
    let entries = try bytes(of: descriptor, from: start, to: start + used * size)
    var packed: [UInt8] = []
    for offset in stride(from: 0, to: entries.count / size * size, by: size)
    where [CS_RING_REQUEST_RUNNING, CS_RING_REQUEST_TRAPPED].contains(UInt32(entries[offset])) {
      packed += pieces(Array(entries[offset..<offset + size]), at: start + offset)
    }
    return packed
  }

  /// Returns the used parts of the image and class tables.
  ///
  /// The unused parts of the tables are holes of the file. Reading the holes would take as long as reading the rest of
  /// the file.
  private static func tables(of header: [UInt8], before slots: Int) -> [Range<Int>] {
    let (images, notes, classes) = (place(\cs_ring.images), place(\cs_ring.annotations), place(\cs_ring.classes))
    let imageCount = count(\.image_count, in: header, limit: CS_RING_IMAGE_LIMIT)
    let imagesEnd = images + imageCount * MemoryLayout<cs_ring_image>.size
    let classCount = count(\.class_count, in: header, limit: CS_RING_CLASS_LIMIT)
    let classesEnd = classes + classCount * MemoryLayout<cs_ring_class>.size
    return [images..<min(imagesEnd, notes), notes..<classes, classes..<min(classesEnd, slots)]
  }

  private static func place<Layout>(_ field: PartialKeyPath<Layout>) -> Int {
    guard let offset = MemoryLayout<Layout>.offset(of: field) else {
      preconditionFailure("BUG: \(field) is not a stored field")
    }
    return offset
  }

  /// Returns a count from the ring's header, limited to `limit`.
  private static func count(_ field: PartialKeyPath<cs_ring_header>, in header: [UInt8], limit: Int32) -> Int {
    let offset = place(field)
    guard header.count >= offset + 4 else { return 0 }
    return min(Int(header[offset..<offset + 4].reversed().reduce(0) { $0 << 8 | UInt32($1) }), Int(limit))
  }

  /// Changes the structure at the start of `bytes`.
  ///
  /// If `bytes` is too short for the structure because the file is truncated, `bytes` becomes empty.
  private static func edit<Structure>(_ bytes: inout [UInt8], _ change: (UnsafeMutablePointer<Structure>?) -> Void) {
    guard bytes.count >= MemoryLayout<Structure>.size else {
      bytes = []
      return
    }
    // The array has at least as many bytes as the structure. The storage of the array is aligned for any structure, and
    // any bytes are a valid structure.
    unsafe bytes.withUnsafeMutableBytes { buffer in
      unsafe change(buffer.baseAddress?.assumingMemoryBound(to: Structure.self))
    }
  }

  /// Reads a range of the file; the result is shorter than the range if the file ends before the end of the range.
  private static func bytes(of descriptor: Int32, from start: Int, to end: Int) throws(SystemError) -> [UInt8] {
    var code: Int32 = 0
    let bytes = unsafe [UInt8](unsafeUninitializedCapacity: end - start) { buffer, initialized in
      while initialized < end - start {
        // pread writes at most as many bytes as the unread rest of the buffer has.
        let count = unsafe pread(
          descriptor, buffer.baseAddress?.advanced(by: initialized), end - start - initialized,
          off_t(start + initialized))
        if count < 0 && errno == EINTR { continue }
        if count < 0 { code = errno }
        guard count > 0 else { break }
        initialized += count
      }
    }
    if code != 0 { throw SystemError("read a ring", code: code) }
    return bytes
  }

  private static func start(_ version: RingVersion) -> [UInt8] { magic + number(UInt64(version.bytes)) }

  /// Packs the contents of a ring without the blocks that contain only zeros.
  static func pack(_ ring: [UInt8]) -> [UInt8] { magic + number(UInt64(ring.count)) + pieces(ring, at: 0) }

  /// Packs bytes into the pieces of an excerpt.
  ///
  /// The first byte has the offset `offset` in the ring.
  private static func pieces(_ ring: [UInt8], at offset: Int) -> [UInt8] {
    var packed: [UInt8] = []
    unsafe ring.withUnsafeBytes { bytes in
      var start = 0
      while start < bytes.count {
        var end = start
        while end < bytes.count, unsafe !isZero(bytes, from: end) { end = min(end + block, bytes.count) }
        if end > start {
          packed += number(UInt64(offset + start)) + number(UInt64(end - start))
          unsafe packed.append(contentsOf: bytes[start..<end])
        }
        start = end + block
      }
    }
    return packed
  }

  private static let zeros = [UInt8](repeating: 0, count: block)

  /// Whether the block that begins at `start` contains only zeros.
  ///
  /// Precondition: `start` is before the end of the bytes.
  private static func isZero(_ bytes: UnsafeRawBufferPointer, from start: Int) -> Bool {
    guard let base = bytes.baseAddress else { return true }
    // Both buffers contain all compared bytes, because the last block ends at the end of the buffer at the latest.
    return unsafe zeros.withUnsafeBytes { zeros in
      guard let zero = zeros.baseAddress else { return true }
      return unsafe memcmp(base + start, zero, min(block, bytes.count - start)) == 0
    }
  }

  /// Restores the ring; nil if the bytes are not an excerpt.
  static func unpack(_ packed: [UInt8]) -> [UInt8]? {
    guard packed.starts(with: magic), packed.count >= 16,
      let version = RingVersion.allCases.first(where: { UInt64($0.bytes) == number(packed[8..<16]) })
    else { return nil }
    var ring = [UInt8](repeating: 0, count: version.bytes)
    var position = 16
    while position < packed.count {
      guard packed.count - position >= 16 else { return nil }
      let offset = number(packed[position..<position + 8])
      let size = number(packed[position + 8..<position + 16])
      position += 16
      guard size <= UInt64(packed.count - position), offset <= UInt64(ring.count),
        size <= UInt64(ring.count) - offset
      else { return nil }
      ring.replaceSubrange(Int(offset)..<Int(offset + size), with: packed[position..<position + Int(size)])
      position += Int(size)
    }
    return ring
  }

  private static func number(_ value: UInt64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}
