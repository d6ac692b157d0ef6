import CShimRing
import Glibc

/// A ring without its empty parts: what the store keeps beside a report, enough to analyse it again.
///
/// Form: the text `CSRAW1` and two zeros, the ring's size (8 bytes), then pieces: offset (8), size (8), bytes. All
/// numbers little-endian. What no piece covers is zero.
enum RingExcerpt {
  static let magic = Array("CSRAW1\0\0".utf8)
  private static let block = 512

  /// Reads a ring's file up to the end of its last used slot.
  static func read(descriptor: Int32) throws(SystemError) -> [UInt8] {
    try pack(bytes(of: descriptor))
  }

  private static func bytes(of descriptor: Int32) throws(SystemError) -> [UInt8] {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: MemoryLayout<cs_ring_slot>.size)
    let slots = MemoryLayout<cs_ring>.size - MemoryLayout<cs_ring_slot>.size * Int(CS_RING_SLOT_LIMIT)
    while bytes.count < MemoryLayout<cs_ring>.size {
      let wanted = min(bytes.count < slots ? slots - bytes.count : buffer.count, buffer.count)
      // pread writes at most as many bytes as the buffer has.
      let count = unsafe pread(descriptor, &buffer, wanted, off_t(bytes.count))
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { throw SystemError("read a ring") }
      // Slots are used in their order: the first that was never claimed ends the search.
      if count == 0 || (bytes.count >= slots && buffer.prefix(8).allSatisfy { $0 == 0 }) { break }
      bytes += buffer.prefix(count)
    }
    return bytes
  }

  /// Leaves blocks of zeros out.
  static func pack(_ ring: [UInt8]) -> [UInt8] {
    var packed = magic + number(UInt64(MemoryLayout<cs_ring>.size))
    var start = 0
    while start < ring.count {
      let end = min(start + block, ring.count)
      if ring[start..<end].allSatisfy({ $0 == 0 }) {
        start = end
        continue
      }
      var last = end
      while last < ring.count, ring[last..<min(last + block, ring.count)].contains(where: { $0 != 0 }) {
        last = min(last + block, ring.count)
      }
      packed += number(UInt64(start)) + number(UInt64(last - start)) + ring[start..<last]
      start = last
    }
    return packed
  }

  /// The ring again; nil when the bytes are no excerpt.
  static func unpack(_ packed: [UInt8]) -> [UInt8]? {
    guard packed.starts(with: magic), packed.count >= 16, number(packed[8..<16]) == UInt64(MemoryLayout<cs_ring>.size)
    else { return nil }
    var ring = [UInt8](repeating: 0, count: MemoryLayout<cs_ring>.size)
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
