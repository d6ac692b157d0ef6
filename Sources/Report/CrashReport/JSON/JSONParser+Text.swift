// Parses JSON strings and their escapes.
extension JSONParser {
  mutating func string() throws(JSONProblem) -> String {
    offset += 1
    let start = offset
    offset = endOfPlainText(in: bytes, from: start)
    // Strings without escapes take this fast path, because most strings contain no escapes.
    if byte == UInt8(ascii: "\"") {
      defer { offset += 1 }
      return try text(bytes[start..<offset])
    }
    var unescaped = Array(bytes[start..<offset])
    while !take(UInt8(ascii: "\"")) {
      guard byte >= 0x20 else { throw malformed }
      if take(UInt8(ascii: "\\")) {
        try escape(into: &unescaped)
      } else {
        unescaped.append(byte)
        offset += 1
      }
    }
    return try text(unescaped[...])
  }

  private func text(_ slice: ArraySlice<UInt8>) throws(JSONProblem) -> String {
    guard let text = String(validating: slice, as: UTF8.self) else { throw malformed }
    if isStreamSafe, !slice.allSatisfy({ $0 < 0x80 }) { try checkMarks(of: text) }
    return text
  }

  private func checkMarks(of text: String) throws(JSONProblem) {
    var row = 0
    for scalar in text.unicodeScalars {
      row = scalar.properties.canonicalCombiningClass == .notReordered ? 0 : row + 1
      if row > Self.marks { throw .tooManyMarks(limit: Self.marks) }
    }
  }

  private mutating func escape(into text: inout [UInt8]) throws(JSONProblem) {
    let kind = byte
    offset += 1
    switch kind {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(kind)
    case UInt8(ascii: "b"): text.append(0x08)
    case UInt8(ascii: "f"): text.append(0x0c)
    case UInt8(ascii: "n"): text.append(0x0a)
    case UInt8(ascii: "r"): text.append(0x0d)
    case UInt8(ascii: "t"): text.append(0x09)
    case UInt8(ascii: "u"): text += UTF8.encode(try scalar()).map(Array.init) ?? []
    default: throw malformed
    }
  }

  /// Parses one Unicode scalar.
  ///
  /// JSON escapes a scalar as one `\u` sequence, or as a pair of surrogates.
  private mutating func scalar() throws(JSONProblem) -> Unicode.Scalar {
    let first = try unit()
    if let scalar = Unicode.Scalar(first) { return scalar }
    guard UTF16.isLeadSurrogate(first), take(UInt8(ascii: "\\")), take(UInt8(ascii: "u")) else { throw malformed }
    let second = try unit()
    guard UTF16.isTrailSurrogate(second) else { throw malformed }
    return UTF16.decode(UTF16.EncodedScalar([first, second]))
  }

  private mutating func unit() throws(JSONProblem) -> UInt16 {
    var unit: UInt16 = 0
    for _ in 0..<4 {
      guard let digit = hexadecimal(byte) else { throw malformed }
      unit = unit << 4 | digit
      offset += 1
    }
    return unit
  }

  private func hexadecimal(_ byte: UInt8) -> UInt16? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt16(byte - UInt8(ascii: "0"))
    case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt16(byte - UInt8(ascii: "a") + 10)
    case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt16(byte - UInt8(ascii: "A") + 10)
    default: nil
    }
  }
}

/// Returns the index of the first byte that needs attention: a control character, a quote, a backslash, or the end.
///
/// Most bytes of JSON pass through this loop. It is outside of the generic type, because a debug build looks up the
/// metadata of a generic type for each byte.
private func endOfPlainText(in bytes: [UInt8], from start: Int) -> Int {
  var index = start
  while index < bytes.count {
    let byte = bytes[index]
    if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { break }
    index += 1
  }
  return index
}
