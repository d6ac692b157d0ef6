import CShimRing
import CTestKit
import Testing

@Suite("CRC-32C")
struct ChecksumTests {
  static let vectors: [([UInt8], UInt32)] = [
    ([], 0),
    (Array("123456789".utf8), 0xe306_9283),
    (Array(repeating: 0x00, count: 32), 0x8a91_36aa),
    (Array(repeating: 0xff, count: 32), 0x62a8_ab43),
    (Array(0..<32), 0x46dd_794e),
    (Array((0..<32).reversed()), 0x113f_db5c),
  ]

  @Test("CRC-32C gives the values of RFC 3720, with the CPU instruction and with the table", arguments: vectors)
  func vector(bytes: [UInt8], expected: UInt32) {
    #expect(checksum(bytes) == expected)
    #expect(tableChecksum(bytes) == expected)
  }

  @Test("a CRC-32C computed in parts equals the CRC-32C of the whole")
  func continued() {
    let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    for cut in [0, 1, 7, 8, 9, 500, 1000] {
      let first = checksum(Array(bytes[..<cut]))
      #expect(checksum(Array(bytes[cut...]), after: first) == checksum(bytes))
    }
  }

  @Test("CRC-32C by CPU instruction equals CRC-32C by table at every length and alignment")
  func agreement() {
    let bytes = (0..<100).map { UInt8(truncatingIfNeeded: $0 &* 31 ^ 5) }
    for start in 0..<9 {
      for end in start...100 {
        let part = Array(bytes[start..<end])
        #expect(checksum(part) == tableChecksum(part))
      }
    }
  }

  private func checksum(_ bytes: [UInt8], after crc: UInt32 = 0) -> UInt32 {
    // Invariant: the call uses the pointer only for the buffer's byte count, and does not keep it.
    unsafe bytes.withUnsafeBytes { unsafe cs_ring_crc32c(crc, $0.baseAddress, $0.count) }
  }

  private func tableChecksum(_ bytes: [UInt8]) -> UInt32 {
    // Invariant: the call uses the pointer only for the buffer's byte count, and does not keep it.
    unsafe bytes.withUnsafeBytes { unsafe cs_test_crc32c_software(0, $0.baseAddress, $0.count) }
  }
}
