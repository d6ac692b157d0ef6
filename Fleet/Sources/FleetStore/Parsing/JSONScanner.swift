/// Reads selected members of untrusted JSON.
///
/// Checks the syntax of the rest without building values.
///
/// Complexity: O(bytes). The recursion is at most `depth` levels deep.
struct JSONScanner {
  /// The maximum nesting depth, the same as for crashd's replies.
  static let depth = 64
  /// The maximum length of a number in bytes.
  private static let numberBytes = 64

  private let bytes: [UInt8]
  private let end: Int
  private(set) var offset: Int

  init(_ bytes: [UInt8], _ range: Range<Int>) {
    (self.bytes, offset, end) = (bytes, range.lowerBound, range.upperBound)
  }

  /// The next byte; 0 at the end of the input, because valid JSON has no byte 0.
  private var byte: UInt8 { offset < end ? bytes[offset] : 0 }

  var malformed: IngestProblem { IngestProblem(.malformed, "the JSON is malformed at byte \(offset)") }

  mutating func skipSpace() {
    while byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { offset += 1 }
  }

  /// Whether the next value is null.
  ///
  /// Precondition: blanks are skipped.
  var isNull: Bool { byte == UInt8(ascii: "n") }

  /// Checks that nothing but blanks follows.
  mutating func finish() throws(IngestProblem) {
    skipSpace()
    guard offset == end else { throw malformed }
  }

  private mutating func take(_ expected: UInt8) -> Bool {
    guard byte == expected, offset < end else { return false }
    offset += 1
    return true
  }

  /// Reads an object.
  ///
  /// Calls `member` for each key; `member` must read or skip the value.
  mutating func members(
    _ name: String, depth: Int, _ member: (inout JSONScanner, String) throws(IngestProblem) -> Void
  ) throws(IngestProblem) {
    skipSpace()
    guard depth < Self.depth else { throw tooDeep }
    guard take(UInt8(ascii: "{")) else { throw IngestProblem(.invalid, "'\(name)' must be an object") }
    skipSpace()
    if take(UInt8(ascii: "}")) { return }
    repeat {
      skipSpace()
      guard byte == UInt8(ascii: "\"") else { throw malformed }
      let key = try string(limit: 64)
      skipSpace()
      guard take(UInt8(ascii: ":")) else { throw malformed }
      try member(&self, key)
      skipSpace()
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "}")) else { throw malformed }
  }

  /// Reads an array.
  ///
  /// Calls `element` for each element; `element` must read or skip it.
  mutating func elements(_ element: (inout JSONScanner) throws(IngestProblem) -> Void) throws(IngestProblem) {
    skipSpace()
    guard take(UInt8(ascii: "[")) else { throw malformed }
    skipSpace()
    if take(UInt8(ascii: "]")) { return }
    repeat {
      skipSpace()
      try element(&self)
      skipSpace()
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "]")) else { throw malformed }
  }

  /// Reads a string or null.
  ///
  /// Truncates a longer string to `limit` bytes, because the database indexes some fields.
  mutating func text(_ name: String, limit: Int) throws(IngestProblem) -> String? {
    skipSpace()
    if byte == UInt8(ascii: "n") {
      try word("null")
      return nil
    }
    guard byte == UInt8(ascii: "\"") else { throw IngestProblem(.invalid, "'\(name)' must be a string") }
    return try string(limit: limit)
  }

  mutating func integer(_ name: String) throws(IngestProblem) -> Int64 {
    skipSpace()
    let start = offset
    try skip(depth: Self.depth)
    guard let number = Int64(String(decoding: bytes[start..<offset], as: UTF8.self)) else {
      throw IngestProblem(.invalid, "'\(name)' must be an integer")
    }
    return number
  }

  /// Checks the syntax of one value of any type.
  mutating func skip(depth: Int) throws(IngestProblem) {
    skipSpace()
    switch byte {
    case UInt8(ascii: "{"):
      guard depth < Self.depth else { throw tooDeep }
      offset += 1
      skipSpace()
      if take(UInt8(ascii: "}")) { return }
      repeat {
        skipSpace()
        guard byte == UInt8(ascii: "\"") else { throw malformed }
        try skipString()
        skipSpace()
        guard take(UInt8(ascii: ":")) else { throw malformed }
        try skip(depth: depth + 1)
        skipSpace()
      } while take(UInt8(ascii: ","))
      guard take(UInt8(ascii: "}")) else { throw malformed }
    case UInt8(ascii: "["):
      guard depth < Self.depth else { throw tooDeep }
      try elements { (scanner) throws(IngestProblem) in try scanner.skip(depth: depth + 1) }
    case UInt8(ascii: "\""): try skipString()
    case UInt8(ascii: "t"): try word("true")
    case UInt8(ascii: "f"): try word("false")
    case UInt8(ascii: "n"): try word("null")
    default: try number()
    }
  }

  private var tooDeep: IngestProblem {
    IngestProblem(.tooDeep, "the JSON is nested deeper than \(Self.depth) levels at byte \(offset)")
  }

  private mutating func word(_ word: String) throws(IngestProblem) {
    for expected in word.utf8 { guard take(expected) else { throw malformed } }
  }

  private mutating func number() throws(IngestProblem) {
    let start = offset
    _ = take(UInt8(ascii: "-"))
    if !take(UInt8(ascii: "0")) { try digits() }
    if take(UInt8(ascii: ".")) { try digits() }
    if byte | 0x20 == UInt8(ascii: "e") {
      offset += 1
      if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
      try digits()
    }
    guard offset - start <= Self.numberBytes else { throw malformed }
  }

  private mutating func digits() throws(IngestProblem) {
    let start = offset
    while (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { offset += 1 }
    guard offset > start else { throw malformed }
  }
}

// Strings.
extension JSONScanner {
  /// Moves behind a string.
  ///
  /// Returns whether the string has escapes.
  @discardableResult
  private mutating func skipString() throws(IngestProblem) -> Bool {
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

  private mutating func string(limit: Int) throws(IngestProblem) -> String {
    let start = offset + 1
    let hasEscapes = try skipString()
    let inner = bytes[start..<offset - 1]
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
