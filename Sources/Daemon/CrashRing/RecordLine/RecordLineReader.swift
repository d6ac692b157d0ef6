internal import CShimRing

/// Reads the pieces in the payload of a record line.
///
/// A piece is a range of bytes of the ring. The number of bytes that all pieces fill is limited, because a few bytes of
/// the payload can repeat a value any number of times.
struct RecordLineReader {
  private var rest: ArraySlice<UInt8>
  /// The base addresses: the line encodes an address as the difference from one of them; see cs_record_line.h.
  private var bases = [UInt64](repeating: 0, count: Int(CS_RECORD_LINE_BASE_COUNT))
  private var nextBase = 1
  /// The number of ring bytes that further pieces are allowed to fill.
  private var room = Int(CS_RECORD_LINE_RING_LIMIT_BYTES)
  private var end: UInt64 = 0

  init(_ pieces: ArraySlice<UInt8>) { rest = pieces }

  /// Reads all pieces.
  mutating func pieces() throws(RecordLineError) -> [RecordLine.Piece] {
    var pieces: [RecordLine.Piece] = []
    while !rest.isEmpty { pieces.append(try piece()) }
    return pieces
  }

  private mutating func piece() throws(RecordLineError) -> RecordLine.Piece {
    let place = try varint()
    let offset = end &+ Self.signed(place >> 1)
    let isWords = UInt32(place & 1) == CS_RECORD_LINE_KIND_WORDS
    let count = try varint()
    // Compare `count` itself first, because `count * 8` could overflow.
    guard count <= UInt64(room), isWords ? count * 8 <= UInt64(room) : true else {
      throw .malformed("its pieces fill too many bytes")
    }
    let size = Int(count) * (isWords ? 8 : 1)
    guard offset <= UInt64(RingVersion.current.bytes), UInt64(size) <= UInt64(RingVersion.current.bytes) - offset else {
      throw .malformed("a piece ends outside of the ring")
    }
    room -= size
    end = offset + UInt64(size)
    return RecordLine.Piece(offset: Int(offset), bytes: isWords ? try words(Int(count)) : try take(size))
  }

  private mutating func words(_ count: Int) throws(RecordLineError) -> [UInt8] {
    var words: [UInt64] = []
    words.reserveCapacity(count)
    while words.count < count {
      let control = UInt32(try take(1)[0])
      if control & CS_RECORD_LINE_REPEAT != 0 {
        let distance = Int(control & ~CS_RECORD_LINE_REPEAT) + 1
        let repeats = try varint()
        guard distance <= words.count else { throw .malformed("a repeat begins before its piece") }
        guard repeats > 0, repeats <= UInt64(count - words.count) else {
          throw .malformed("a repeat has an impossible number of words")
        }
        for _ in 0..<repeats { words.append(words[words.count - distance]) }
      } else {
        words.append(try literal(control))
      }
    }
    return words.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
  }

  private mutating func literal(_ control: UInt32) throws(RecordLineError) -> UInt64 {
    let base = Int(control >> CS_RECORD_LINE_BASE_SHIFT)
    let size = Int(control & CS_RECORD_LINE_BYTES_MASK)
    guard size <= 8 else { throw .malformed("a word has more than 8 bytes") }
    let word = bases[base] &+ Self.signed(RecordLine.number(try take(size)[...]))
    if base > 0 {
      bases[base] = word
    } else if size >= Int(CS_RECORD_LINE_BASE_MINIMUM_BYTES) {
      bases[nextBase] = word
      nextBase = nextBase % (bases.count - 1) + 1
    }
    return word
  }

  private mutating func take(_ count: Int) throws(RecordLineError) -> [UInt8] {
    guard count <= rest.count else { throw .malformed("a piece ends outside of the payload") }
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  /// Reads a LEB128 number.
  private mutating func varint() throws(RecordLineError) -> UInt64 {
    var value: UInt64 = 0
    for shift in stride(from: UInt64(0), to: 70, by: 7) {
      let byte = try take(1)[0]
      let bits = UInt64(byte & 0x7f)
      // Reject a tenth byte with any bit except the lowest, which is the highest bit of the number.
      guard shift < 63 || bits <= 1 else { break }
      value |= bits << shift
      if byte & 0x80 == 0 { return value }
    }
    throw .malformed("a number has more than 64 bits")
  }

  /// Decodes a zigzag number; a negative number is returned modulo 2^64.
  private static func signed(_ zigzag: UInt64) -> UInt64 { zigzag >> 1 ^ (0 &- (zigzag & 1)) }
}
