import CShimRing
import CTestKit
import CrashRing

/// A second decoder of record lines, written for tests from docs/record-line.md only.
struct DecodedLine {
  /// The head of the payload: its size, and the numbers of omitted items.
  var head: [Int]
  /// The ring that the decoder fills from the pieces.
  ///
  /// The decoder computes the CRCs of slot 0, which are not in a line.
  var ring: TestRing

  /// Finds the first record line in a log, and decodes it; nil if there is no line, or if the line is damaged.
  init?(in log: String) {
    let text = Array(log.utf8)
    guard let start: Int = Self.end(of: Array(CS_RECORD_LINE_PREFIX.utf8), in: text) else { return nil }
    let bytes = Self.base64(text[start...])
    guard bytes.count >= 22 else { return nil }
    head = (0..<9).map { Int(Self.number(bytes[(2 * $0)..<(2 * $0 + 2)])) }
    guard head[0] >= 22, head[0] <= bytes.count else { return nil }
    let body = Array(bytes[..<(head[0] - 4)])
    let found = Self.number(bytes[(head[0] - 4)..<head[0]])
    // Invariant: the array is valid during the call, which gets its size.
    guard unsafe body.withUnsafeBytes({ unsafe cs_ring_crc32c(0, $0.baseAddress, $0.count) }) == found else {
      return nil
    }
    ring = TestRing()
    unsafe ring.memory.initializeMemory(as: UInt8.self, repeating: 0)
    var reader = Reader(bytes: body[18...])
    while !reader.bytes.isEmpty {
      guard reader.piece(into: ring) else { return nil }
    }
    let size = TestRing.record(0) + fieldOffset(\cs_ring_record.stack_bytes)
    // Invariant: the field lies inside the ring's memory.
    ring.commit(slot: 0, stackBytes: Int(unsafe ring.memory.load(fromByteOffset: size, as: UInt32.self)))
    ring.commitRequest(slot: 0)
  }

  /// Reads a little-endian number.
  static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
  }

  private static func end(of word: [UInt8], in text: [UInt8]) -> Int? {
    text.indices.first { text[$0...].starts(with: word) }.map { $0 + word.count }
  }

  private static func base64(_ text: ArraySlice<UInt8>) -> [UInt8] {
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    var (bytes, bits, count): ([UInt8], Int, Int) = ([], 0, 0)
    for character in text {
      guard let digit = digits.firstIndex(of: character) else { break }
      (bits, count) = ((bits << 6 | digit) & 0xfff, count + 6)
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> count))
      }
    }
    return bytes
  }
}

extension DecodedLine {
  /// Reads pieces.
  struct Reader {
    var bytes: ArraySlice<UInt8>
    var end = 0
    var bases = [UInt64](repeating: 0, count: Int(CS_RECORD_LINE_BASE_COUNT))
    var nextBase = 1

    init(bytes: ArraySlice<UInt8>) { self.bytes = bytes }

    mutating func piece(into ring: TestRing) -> Bool {
      guard let place = varint(), let count = varint() else { return false }
      let distance = place >> 1
      let offset = end + Int(bitPattern: UInt(distance >> 1 ^ (distance & 1 == 0 ? 0 : .max)))
      if place & 1 == UInt64(CS_RECORD_LINE_KIND_BYTES) {
        guard count <= bytes.count else { return false }
        ring.put(bytes.prefix(Int(count)), at: offset)
        bytes = bytes.dropFirst(Int(count))
        end = offset + Int(count)
      } else {
        guard let words = words(Int(count)) else { return false }
        for (index, word) in words.enumerated() { ring.put(word, at: offset + index * 8) }
        end = offset + words.count * 8
      }
      return true
    }

    mutating func words(_ count: Int) -> [UInt64]? {
      var words: [UInt64] = []
      while words.count < count {
        guard let control = bytes.popFirst() else { return nil }
        if control & UInt8(CS_RECORD_LINE_REPEAT) != 0 {
          let distance = Int(control & 0x7f) + 1
          guard let length = varint(), distance <= words.count else { return nil }
          for _ in 0..<length { words.append(words[words.count - distance]) }
        } else {
          guard let word = literal(control) else { return nil }
          words.append(word)
        }
      }
      return words.count == count ? words : nil
    }

    private mutating func literal(_ control: UInt8) -> UInt64? {
      let (base, size) = (Int(control >> 4), Int(control & 15))
      guard size <= 8, bytes.count >= size else { return nil }
      let value = DecodedLine.number(bytes.prefix(size))
      bytes = bytes.dropFirst(size)
      let word = bases[base] &+ (value >> 1 ^ (value & 1 == 0 ? 0 : .max))
      if base > 0 {
        bases[base] = word
      } else if size > 4 {
        bases[nextBase] = word
        nextBase = nextBase % 7 + 1
      }
      return word
    }

    private mutating func varint() -> UInt64? {
      var value: UInt64 = 0
      for shift in stride(from: 0, to: 64, by: 7) {
        guard let byte = bytes.popFirst() else { return nil }
        value |= UInt64(byte & 0x7f) << UInt64(shift)
        if byte < 0x80 { return value }
      }
      return nil
    }
  }
}
