/// Reads little-endian numbers from untrusted bytes.
///
/// The reader never reads beyond the end of the bytes.
struct WordReader {
  private let bytes: [UInt8]
  private(set) var position: Int

  init(_ bytes: [UInt8], from position: Int = 0) {
    self.bytes = bytes
    self.position = position
  }

  mutating func next() -> UInt64? { number(of: 8) }

  mutating func half() -> UInt32? { number(of: 4).map { UInt32(truncatingIfNeeded: $0) } }

  mutating func bytes(_ count: Int) -> [UInt8]? {
    guard count >= 0, count <= bytes.count - position else { return nil }
    defer { position += count }
    return Array(bytes[position..<position + count])
  }

  private mutating func number(of count: Int) -> UInt64? {
    bytes(count)?.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}

extension [UInt8] {
  mutating func append(word: UInt64) {
    for shift in stride(from: 0, to: 64, by: 8) { append(UInt8(truncatingIfNeeded: word >> shift)) }
  }

  mutating func append(half: UInt32) {
    for shift in stride(from: 0, to: 32, by: 8) { append(UInt8(truncatingIfNeeded: half >> shift)) }
  }
}
