/// A type that a `JSONParser` can build from untrusted JSON.
package protocol JSONBuildable {
  static func json(null: Void) -> Self
  static func json(bool: Bool) -> Self
  static func json(integer: Int64) -> Self
  static func json(double: Double) -> Self
  static func json(string: String) -> Self
  static func json(array: [Self]) -> Self
  static func json(object: [String: Self]) -> Self
}

/// The reason why JSON was refused.
package enum JSONProblem: Error, Equatable, CustomStringConvertible {
  /// The byte at this offset is not valid JSON.
  case malformed(offset: Int)
  /// Arrays and objects are nested deeper than the limit.
  case tooDeep(limit: Int)
  /// A string has more consecutive combining marks than the Stream-Safe Text Format of UAX #15 allows.
  case tooManyMarks(limit: Int)

  package var description: String {
    switch self {
    case .malformed(let offset): "invalid JSON at byte \(offset)"
    case .tooDeep(let limit): "nested deeper than \(limit)"
    case .tooManyMarks(let limit): "more than \(limit) combining marks in a row"
    }
  }
}

/// Parses untrusted JSON (RFC 8259) in one pass.
///
/// This parser replaces `JSONDecoder` for untrusted JSON. `JSONDecoder` takes cubic time in the nesting depth if a type
/// tries to decode one kind of value after another, because each failed attempt builds an error with the complete
/// coding path.
///
/// Complexity: O(bytes). Each byte is read at most twice, and the stack holds at most `depth` frames. `make
/// bench-hostile` measures the time per byte.
package struct JSONParser<Value: JSONBuildable> {
  /// The maximum length of a number in bytes.
  ///
  /// The length is limited, because converting long numbers takes more than linear time.
  private static var numberBytes: Int { 64 }
  /// The maximum number of consecutive combining marks, as in the Stream-Safe Text Format of UAX #15.
  static var marks: Int { 30 }

  let bytes: [UInt8]
  let depth: Int
  let isStreamSafe: Bool
  var offset = 0

  /// Parses a complete JSON document.
  ///
  /// If an object contains a key several times, the last value is used.
  /// - Parameters:
  ///   - bytes: The JSON as UTF-8.
  ///   - depth: The maximum nesting depth of arrays and objects.
  ///   - isStreamSafe: Whether to refuse long sequences of combining marks. Every call of `==` or `hash` on a `String`
  ///     sorts its combining marks, which is slow for long sequences.
  /// - Returns: The parsed value.
  /// - Throws: `JSONProblem`.
  package static func parse(_ bytes: [UInt8], depth: Int, isStreamSafe: Bool = false) throws(JSONProblem) -> Value {
    var parser = JSONParser(bytes: bytes, depth: depth, isStreamSafe: isStreamSafe)
    let value = try parser.value(at: 0)
    parser.skipSpace()
    guard parser.offset == bytes.count else { throw parser.malformed }
    return value
  }

  private init(bytes: [UInt8], depth: Int, isStreamSafe: Bool) {
    (self.bytes, self.depth, self.isStreamSafe) = (bytes, depth, isStreamSafe)
  }

  var malformed: JSONProblem { .malformed(offset: offset) }

  /// The next byte of the input.
  ///
  /// After the last byte the value is 0, which is invalid in JSON.
  var byte: UInt8 { offset < bytes.count ? bytes[offset] : 0 }

  private mutating func skipSpace() {
    while byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 { offset += 1 }
  }

  mutating func take(_ expected: UInt8) -> Bool {
    guard byte == expected else { return false }
    offset += 1
    return true
  }

  private mutating func value(at level: Int) throws(JSONProblem) -> Value {
    skipSpace()
    switch byte {
    case UInt8(ascii: "["): return .json(array: try array(at: level))
    case UInt8(ascii: "{"): return .json(object: try object(at: level))
    case UInt8(ascii: "\""): return .json(string: try string())
    case UInt8(ascii: "t"): return .json(bool: try word("true", true))
    case UInt8(ascii: "f"): return .json(bool: try word("false", false))
    case UInt8(ascii: "n"): return .json(null: try word("null", ()))
    default: return try number()
    }
  }

  private mutating func word<Meaning>(_ word: StaticString, _ meaning: Meaning) throws(JSONProblem) -> Meaning {
    let end = offset + word.utf8CodeUnitCount
    // An ASCII StaticString has `utf8CodeUnitCount` bytes at its pointer, and the pointer is valid until the program
    // ends.
    guard end <= bytes.count,
      unsafe bytes[offset..<end].elementsEqual(
        UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    else { throw malformed }
    offset = end
    return meaning
  }

  private mutating func array(at level: Int) throws(JSONProblem) -> [Value] {
    try enter(level)
    var values: [Value] = []
    skipSpace()
    if take(UInt8(ascii: "]")) { return values }
    repeat {
      values.append(try value(at: level + 1))
      skipSpace()
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "]")) else { throw malformed }
    return values
  }

  private mutating func object(at level: Int) throws(JSONProblem) -> [String: Value] {
    try enter(level)
    var members: [String: Value] = [:]
    skipSpace()
    if take(UInt8(ascii: "}")) { return members }
    repeat {
      skipSpace()
      guard byte == UInt8(ascii: "\"") else { throw malformed }
      let key = try string()
      skipSpace()
      guard take(UInt8(ascii: ":")) else { throw malformed }
      members[key] = try value(at: level + 1)
      skipSpace()
    } while take(UInt8(ascii: ","))
    guard take(UInt8(ascii: "}")) else { throw malformed }
    return members
  }

  private mutating func enter(_ level: Int) throws(JSONProblem) {
    guard level < depth else { throw .tooDeep(limit: depth) }
    offset += 1
  }
}

// Parses JSON numbers.
extension JSONParser {
  private mutating func number() throws(JSONProblem) -> Value {
    let start = offset
    var isInteger = true
    _ = take(UInt8(ascii: "-"))
    if !take(UInt8(ascii: "0")) { try digits() }
    if take(UInt8(ascii: ".")) {
      isInteger = false
      try digits()
    }
    if byte | 0x20 == UInt8(ascii: "e") {
      isInteger = false
      offset += 1
      if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
      try digits()
    }
    guard offset - start <= Self.numberBytes else { throw malformed }
    let text = String(decoding: bytes[start..<offset], as: UTF8.self)
    if isInteger, let integer = Int64(text) { return .json(integer: integer) }
    guard let double = Double(text), double.isFinite else { throw malformed }
    return .json(double: double)
  }

  private mutating func digits() throws(JSONProblem) {
    let start = offset
    while (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) { offset += 1 }
    guard offset > start else { throw malformed }
  }
}
