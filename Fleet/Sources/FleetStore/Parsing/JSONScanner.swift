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

  let bytes: [UInt8]
  private let end: Int
  var offset: Int

  init(_ bytes: [UInt8], _ range: Range<Int>) {
    (self.bytes, offset, end) = (bytes, range.lowerBound, range.upperBound)
  }

  /// The next byte; 0 at the end of the input, because valid JSON has no byte 0.
  var byte: UInt8 { offset < end ? bytes[offset] : 0 }

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
