/// Computes XXH64 checksums with the seed 0.
///
/// The checksum detects damaged symbol caches. Computing it is about as fast as reading memory. It does not protect
/// against attackers, who can create a file with a correct checksum. Therefore, the code that reads a cache also checks
/// every index.
struct XXH64 {
  private static let primes: (UInt64, UInt64, UInt64, UInt64, UInt64) = (
    0x9e37_79b1_85eb_ca87, 0xc2b2_ae3d_27d4_eb4f, 0x1656_67b1_9e37_79f9, 0x85eb_ca77_c2b2_ae63,
    0x27d4_eb2f_1656_67c5
  )

  /// Returns the checksum of all bytes.
  static func checksum(of bytes: UnsafeRawBufferPointer) -> UInt64 {
    let count = bytes.count
    var offset = 0
    var hash = primes.4
    if count >= 32 { hash = unsafe stripes(of: bytes, offset: &offset) }
    hash &+= UInt64(count)
    while count - offset >= 8 {
      hash ^= round(0, unsafe word(bytes, offset))
      hash = rotate(hash, 27) &* primes.0 &+ primes.3
      offset += 8
    }
    if count - offset >= 4 {
      // At least four bytes remain at `offset`, so the read stays within the buffer.
      let half = unsafe UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
      hash ^= UInt64(half) &* primes.0
      hash = rotate(hash, 23) &* primes.1 &+ primes.2
      offset += 4
    }
    while offset < count {
      // `offset` is below `count`, so the read stays within the buffer.
      hash ^= UInt64(unsafe bytes[offset]) &* primes.4
      hash = rotate(hash, 11) &* primes.0
      offset += 1
    }
    return avalanche(hash)
  }

  /// Processes all complete blocks of 32 bytes, with four accumulators.
  private static func stripes(of bytes: UnsafeRawBufferPointer, offset: inout Int) -> UInt64 {
    var a = primes.0 &+ primes.1
    var b = primes.1
    var c: UInt64 = 0
    var d = 0 &- primes.0
    let end = bytes.count - 32
    while offset <= end {
      a = round(a, unsafe word(bytes, offset))
      b = round(b, unsafe word(bytes, offset + 8))
      c = round(c, unsafe word(bytes, offset + 16))
      d = round(d, unsafe word(bytes, offset + 24))
      offset += 32
    }
    var hash = rotate(a, 1) &+ rotate(b, 7) &+ rotate(c, 12) &+ rotate(d, 18)
    for lane in [a, b, c, d] { hash = (hash ^ round(0, lane)) &* primes.0 &+ primes.3 }
    return hash
  }

  @inline(__always)
  private static func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
    // The callers ensure that at least eight bytes remain at `offset`, so the read stays within the buffer.
    unsafe UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  @inline(__always)
  private static func rotate(_ value: UInt64, _ bits: UInt64) -> UInt64 {
    (value &<< bits) | (value &>> (64 &- bits))
  }

  @inline(__always)
  private static func round(_ accumulator: UInt64, _ input: UInt64) -> UInt64 {
    rotate(accumulator &+ input &* primes.1, 31) &* primes.0
  }

  private static func avalanche(_ value: UInt64) -> UInt64 {
    var hash = value
    hash = (hash ^ (hash >> 33)) &* primes.1
    hash = (hash ^ (hash >> 29)) &* primes.2
    return hash ^ (hash >> 32)
  }
}
