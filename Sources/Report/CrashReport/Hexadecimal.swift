// Formats numbers and bytes as lower-case hexadecimal digits without `0x`, for ids, keys and registers.

extension FixedWidthInteger {
  /// Returns the hexadecimal digits of the number, with leading zeros.
  package func hexadecimal(digits count: Int) -> String {
    let digits = String(self, radix: 16)
    return String(repeating: "0", count: Swift.max(0, count - digits.count)) + digits
  }
}

/// Returns the hexadecimal digits of the bytes, two per byte.
package func hexadecimal(_ bytes: some Sequence<UInt8>) -> String {
  func digit(_ value: UInt8) -> UInt8 { value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + (value - 10) }
  var text: [UInt8] = []
  text.reserveCapacity(2 * bytes.underestimatedCount)
  for byte in bytes {
    text.append(digit(byte >> 4))
    text.append(digit(byte & 15))
  }
  return String(decoding: text, as: UTF8.self)
}
