import CShimRing
import CTestKit

/// Calls the code with which the handler encodes last words and record lines, for rings in memory.
enum Lines {
  static func record(_ ring: TestRing, isBare: Bool = false) -> String {
    // Invariant: the ring exists during the call.
    unsafe line(Int(CS_RECORD_LINE_LIMIT_BYTES)) { unsafe cs_test_record_line(ring.memory.baseAddress, 0, isBare, $0) }
  }

  static func words(_ ring: TestRing, isBare: Bool = false) -> String {
    // Invariant: the ring exists during the call.
    unsafe line(1_024) { unsafe cs_test_last_words(ring.memory.baseAddress, 0, isBare, $0) }
  }

  /// Encodes 64-bit words of the ring as a piece of a record line.
  ///
  /// Returns the piece and the number of words in it.
  static func words(_ words: [UInt64], step: UInt32, limit: Int) -> (piece: [UInt8], count: Int) {
    var size = 0
    var bytes = [UInt8](repeating: 0, count: limit)
    // Invariant: the arrays are valid during the call, which gets their sizes.
    let count = unsafe words.withUnsafeBufferPointer { words in
      unsafe bytes.withUnsafeMutableBufferPointer { bytes in
        unsafe cs_test_put_words(words.baseAddress, UInt32(words.count), step, bytes.baseAddress, limit, &size)
      }
    }
    return (Array(bytes[..<size]), Int(count))
  }

  private static func line(_ limit: Int, _ make: (UnsafeMutablePointer<CChar>?) -> Int) -> String {
    var bytes = [CChar](repeating: 0, count: limit)
    // Invariant: the buffer has the size that the function gets.
    let size = unsafe bytes.withUnsafeMutableBufferPointer { unsafe make($0.baseAddress) }
    return String(decoding: bytes[..<size].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

/// A random number generator.
///
/// Generators with equal seeds return equal numbers.
struct SeededNumbers: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed &* 0x9e37_79b9_7f4a_7c15 | 1 }

  mutating func next() -> UInt64 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state
  }

  mutating func below(_ limit: Int) -> Int { Int(next() % UInt64(limit)) }

  /// Returns a word as it can be on a stack: zero, a small number, an address near other addresses, or random bits.
  mutating func word() -> UInt64 {
    switch below(5) {
    case 0: 0
    case 1: UInt64(below(300))
    case 2: 0x7fff_1234_0000 + UInt64(below(4_096))
    case 3: 0x5555_0000_0000 + UInt64(below(100_000))
    default: next()
    }
  }
}
