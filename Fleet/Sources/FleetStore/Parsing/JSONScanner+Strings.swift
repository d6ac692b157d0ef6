// Strings: their syntax, their escapes, and their limits.
extension JSONScanner {
  /// Moves behind a string.
  ///
  /// Returns whether the string has escapes.
  @discardableResult
  mutating func skipString() throws(IngestProblem) -> Bool {
    offset += 1
    var hasEscapes = false
    while true {
      switch byte {
      case UInt8(ascii: "\""):
        offset += 1
        return hasEscapes
      case UInt8(ascii: "\\"):
        hasEscapes = true
        try skipEscape()
      case 0..<0x20: throw malformed
      default: offset += 1
      }
    }
  }

  private mutating func skipEscape() throws(IngestProblem) {
    offset += 1
    let kind = byte
    guard "\"\\/bfnrtu".utf8.contains(kind) else { throw malformed }
    offset += 1
    guard kind == UInt8(ascii: "u") else { return }
    for _ in 0..<4 {
      guard Self.digit(byte) != nil else { throw malformed }
      offset += 1
    }
  }

  mutating func string(limit: Int) throws(IngestProblem) -> String {
    let start = offset + 1
    let hasEscapes = try skipString()
    let inner = bytes[start..<offset - 1]
    if !hasEscapes, inner.count <= limit {
      let text = String(decoding: inner, as: UTF8.self)
      // U+FFFD replaces malformed UTF-8, and can be longer.
      if text.utf8.count <= limit { return text }
    }
    // An escape has at most six bytes, and stands for at least one byte.
    let plain = hasEscapes ? Self.unescaped(inner.prefix(6 * limit + 12)) : Array(inner.prefix(limit + 4))
    var text = ""
    // PostgreSQL does not store NUL in strings. U+FFFD can be longer than the byte that it replaces, so check the limit
    // last.
    for scalar in String(decoding: plain, as: UTF8.self).unicodeScalars {
      guard text.utf8.count + UTF8.width(scalar) <= limit else { break }
      text.unicodeScalars.append(scalar == "\0" ? "\u{FFFD}" : scalar)
    }
    return text
  }

  /// Replaces escapes.
  ///
  /// A surrogate without its pair, or a pair that the limit cuts, becomes U+FFFD.
  private static func unescaped(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    var (plain, at): ([UInt8], Int) = ([], bytes.startIndex)
    func unit(_ start: Int) -> UInt16? {
      guard start + 6 <= bytes.endIndex, bytes[start] == UInt8(ascii: "\\"), bytes[start + 1] == UInt8(ascii: "u")
      else {
        return nil
      }
      return bytes[start + 2..<start + 6].reduce(0 as UInt16) { $0 << 4 | (digit($1) ?? 0) }
    }
    while at < bytes.endIndex {
      guard bytes[at] == UInt8(ascii: "\\"), at + 1 < bytes.endIndex else {
        plain.append(bytes[at])
        at += 1
        continue
      }
      let kind = bytes[at + 1]
      guard kind == UInt8(ascii: "u") else {
        let short: [UInt8: UInt8] = [0x62: 0x08, 0x66: 0x0c, 0x6e: 0x0a, 0x72: 0x0d, 0x74: 0x09]
        plain.append(short[kind] ?? kind)
        at += 2
        continue
      }
      var units = [unit(at) ?? 0xFFFD]
      at = min(at + 6, bytes.endIndex)
      if UTF16.isLeadSurrogate(units[0]), let second = unit(at), UTF16.isTrailSurrogate(second) {
        units.append(second)
        at += 6
      }
      plain += String(decoding: units, as: UTF16.self).utf8
    }
    return plain
  }

  private static func digit(_ byte: UInt8) -> UInt16? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt16(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt16(byte - UInt8(ascii: "a") + 10)
    case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt16(byte - UInt8(ascii: "A") + 10)
    default: nil
    }
  }
}
