internal import CShimRing

/// Writes record lines (a crash record as one line of text) in the format of cs_record_line.h.
///
/// A line encodes a payload, which consists of a head and of pieces of the ring. The writer encodes each word as a
/// literal relative to 0, and skips words that are zero.
public enum TestRecordLine: Sendable {
  /// The prefix with which a line begins: the mark and the version.
  public static let prefix = CS_RECORD_LINE_PREFIX

  /// Returns a record line with a ring's header, first two images and first annotation, and with slot 0 and 64 bytes of
  /// its stack.
  public static func text(of ring: [UInt8], head: [UInt16] = []) -> String {
    let (images, slot) = (offset(\cs_ring.images), offset(\cs_ring.slots))
    let stack = slot + MemoryLayout<cs_ring_slot>.size - Int(CS_RING_STACK_LIMIT_BYTES)
    let annotations = offset(\cs_ring.annotations)
    let parts = [
      0..<MemoryLayout<cs_ring_header>.size, images..<images + 2 * MemoryLayout<cs_ring_image>.size,
      annotations..<annotations + MemoryLayout<cs_ring_annotation>.size, slot..<stack + 64,
    ]
    var (pieces, end): ([UInt8], Int) = ([], 0)
    for part in parts {
      let words = stride(from: part.lowerBound, to: part.upperBound, by: 8).map { start in
        ring[start..<start + 8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
      }
      for run in words.indices.split(whereSeparator: { words[$0] == 0 }) {
        guard let first = run.first else { continue }
        let offset = part.lowerBound + 8 * first
        pieces += piece(at: offset, after: end, words: run.map { words[$0] })
        end = offset + 8 * run.count
      }
    }
    return text(payload(pieces, head: head))
  }

  private static func offset(_ field: PartialKeyPath<cs_ring>) -> Int {
    guard let offset = MemoryLayout<cs_ring>.offset(of: field) else { preconditionFailure("\(field) has no offset") }
    return offset
  }

  /// Encodes a piece that consists of 64-bit words, at this offset of the ring.
  public static func piece(at offset: Int, after end: Int = 0, words: [UInt64]) -> [UInt8] {
    place(offset - end, kind: 0) + varint(UInt64(words.count)) + words.flatMap(literal)
  }

  /// Encodes a piece that consists of bytes, at this offset of the ring.
  public static func piece(at offset: Int, after end: Int = 0, bytes: [UInt8]) -> [UInt8] {
    place(offset - end, kind: 1) + varint(UInt64(bytes.count)) + bytes
  }

  /// Returns a payload with these pieces and this head, followed by its checksum.
  public static func payload(_ pieces: [UInt8], head: [UInt16] = [], length: Int? = nil) -> [UInt8] {
    let numbers = [UInt16(length ?? pieces.count + 22)] + head + [UInt16](repeating: 0, count: 8 - head.count)
    let contents = numbers.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] } + pieces
    // Invariant: the buffer has `contents.count` bytes.
    let crc = unsafe contents.withUnsafeBytes { unsafe cs_ring_crc32c(0, $0.baseAddress, $0.count) }
    return contents + (0..<4).map { UInt8(truncatingIfNeeded: crc >> (8 * $0)) }
  }

  /// Returns the record line with a payload.
  public static func text(_ payload: [UInt8]) -> String {
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    var (text, bits, count): ([UInt8], UInt32, UInt32) = ([], 0, 0)
    for byte in payload {
      (bits, count) = (bits << 8 | UInt32(byte), count + 8)
      while count >= 6 {
        count -= 6
        text.append(digits[Int(bits >> count & 63)])
      }
    }
    if count > 0 { text.append(digits[Int(bits << (6 - count) & 63)]) }
    return prefix + String(decoding: text, as: UTF8.self)
  }

  /// Returns the LEB128 encoding of a number.
  public static func varint(_ number: UInt64) -> [UInt8] {
    var (bytes, rest): ([UInt8], UInt64) = ([], number)
    while rest > 0x7f {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    return bytes + [UInt8(rest)]
  }

  /// Returns the zigzag encoding of a number.
  public static func zigzag(_ number: Int64) -> UInt64 { UInt64(bitPattern: number << 1 ^ number >> 63) }

  /// Returns the number with which a piece begins.
  ///
  /// The number encodes the piece's kind, and the distance from the end of the previous piece.
  public static func place(_ distance: Int, kind: UInt64) -> [UInt8] { varint(zigzag(Int64(distance)) << 1 | kind) }

  private static func literal(_ word: UInt64) -> [UInt8] {
    let value = zigzag(Int64(bitPattern: word))
    let bytes = (8 - value.leadingZeroBitCount / 8)
    return [UInt8(bytes)] + (0..<bytes).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) }
  }
}
