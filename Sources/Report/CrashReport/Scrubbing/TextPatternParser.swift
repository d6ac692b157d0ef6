/// The parts of a parsed pattern.
indirect enum TextPatternPart {
  case bytes(TextPattern.Bytes)
  case sequence([TextPatternPart])
  case choice([TextPatternPart])
  /// If `most` is nil, the maximum number of repetitions is not limited.
  case repeated(TextPatternPart, least: Int, most: Int?)
  case place(TextPattern.Step)
}

/// Parses patterns with letters, `.`, `[…]`, `(…)`, `|`, `* + ? {2,5}`, `^ $ \b`, `\d \w \s` and the complements of
/// these classes.
struct TextPatternParser {
  private static let depthLimit = 32
  private static let repetitionLimit = 255

  private var rest: Substring.UnicodeScalarView
  private var depth = 0

  init(_ text: String) { rest = text[...].unicodeScalars }

  mutating func pattern() throws(PatternProblem) -> TextPatternPart {
    if rest.isEmpty { throw PatternProblem(reason: "it is empty") }
    let part = try choice()
    guard rest.isEmpty else { throw PatternProblem(reason: "a ) has no (") }
    return part
  }

  private mutating func choice() throws(PatternProblem) -> TextPatternPart {
    var parts = [try sequence()]
    while skip("|") { parts.append(try sequence()) }
    return parts.count == 1 ? parts[0] : .choice(parts)
  }

  private mutating func sequence() throws(PatternProblem) -> TextPatternPart {
    var parts: [TextPatternPart] = []
    while let next = rest.first, next != "|", next != ")" { parts.append(try repeated(try one())) }
    return .sequence(parts)
  }

  private mutating func repeated(_ part: TextPatternPart) throws(PatternProblem) -> TextPatternPart {
    let result: TextPatternPart
    if skip("*") {
      result = .repeated(part, least: 0, most: nil)
    } else if skip("+") {
      result = .repeated(part, least: 1, most: nil)
    } else if skip("?") {
      result = .repeated(part, least: 0, most: 1)
    } else if skip("{") {
      result = try counted(part)
    } else {
      return part
    }
    if case .place = part { throw PatternProblem(reason: "^, $ and \\b cannot be repeated") }
    if let next = rest.first, "*+?{".unicodeScalars.contains(next) {
      throw PatternProblem(reason: "'\(next)' after a repetition is not supported")
    }
    return result
  }

  private mutating func counted(_ part: TextPatternPart) throws(PatternProblem) -> TextPatternPart {
    let least = try number()
    let most = skip(",") ? rest.first == "}" ? nil : try number() : least
    guard skip("}"), most.map({ $0 >= least && $0 > 0 }) ?? true else {
      throw PatternProblem(reason: "a repetition is {2}, {2,} or {2,5}")
    }
    return .repeated(part, least: least, most: most)
  }

  private mutating func number() throws(PatternProblem) -> Int {
    var digits = ""
    while let next = rest.first, ("0"..."9").contains(next), digits.count < 4 {
      digits.unicodeScalars.append(next)
      rest.removeFirst()
    }
    guard let number = Int(digits), number <= Self.repetitionLimit else {
      throw PatternProblem(reason: "a repetition is {2}, {2,} or {2,5}, \(Self.repetitionLimit) at most")
    }
    return number
  }

  private mutating func one() throws(PatternProblem) -> TextPatternPart {
    guard let next = rest.popFirst() else { throw PatternProblem(reason: "a part is missing at its end") }
    switch next {
    case "(": return try group()
    case "[": return try set()
    case ".": return Self.letter(Self.all & ~Self.bytes("\n"))
    case "^": return .place(.start)
    case "$": return .place(.end)
    case "\\":
      guard let escaped = rest.popFirst() else { throw PatternProblem(reason: "nothing follows its last \\") }
      if escaped == "b" { return .place(.edge) }
      return Self.letter(try Self.escape(escaped))
    case "*", "+", "?", "{": throw PatternProblem(reason: "'\(next)' repeats nothing")
    default: return .sequence(String(next).utf8.map { .bytes(Self.byte($0)) })
    }
  }

  private mutating func group() throws(PatternProblem) -> TextPatternPart {
    depth += 1
    defer { depth -= 1 }
    guard depth <= Self.depthLimit else {
      throw PatternProblem(reason: "its groups are nested deeper than \(Self.depthLimit)")
    }
    if skip("?") {
      guard skip(":") else { throw PatternProblem(reason: "a group that begins with (? must begin with (?:") }
    }
    let part = try choice()
    guard skip(")") else { throw PatternProblem(reason: "a ( has no )") }
    return part
  }

  private mutating func set() throws(PatternProblem) -> TextPatternPart {
    let isOpposite = skip("^")
    var bytes = TextPattern.Bytes.zero
    var isFirst = true
    while isFirst || rest.first != "]" {
      isFirst = false
      let (one, low) = try member()
      bytes |= one
      // Treat a `-` at the end of a set as a character that matches itself.
      guard let low, rest.first == "-", rest.dropFirst().first != "]" else { continue }
      rest.removeFirst()
      guard let high = try member().single, high >= low else {
        throw PatternProblem(reason: "a range must have the form a-z")
      }
      for byte in low...high { bytes |= Self.byte(byte) }
    }
    rest.removeFirst()
    return Self.letter(isOpposite ? Self.all & ~bytes : bytes)
  }

  private mutating func member() throws(PatternProblem) -> (bytes: TextPattern.Bytes, single: UInt8?) {
    guard var next = rest.popFirst() else { throw PatternProblem(reason: "a [ has no ]") }
    if next == "\\" {
      guard let escaped = rest.popFirst() else { throw PatternProblem(reason: "a [ has no ]") }
      let bytes = try Self.escape(escaped)
      guard Self.isPunctuation(escaped) else { return (bytes, nil) }
      next = escaped
    }
    guard next.isASCII else { throw PatternProblem(reason: "only ASCII is supported between [ and ], not '\(next)'") }
    let byte = UInt8(truncatingIfNeeded: next.value)
    return (Self.byte(byte), byte)
  }

  private mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
    guard rest.first == scalar else { return false }
    rest.removeFirst()
    return true
  }
}

// Parses sets of bytes. The complement of a set of ASCII characters contains every byte of all non-ASCII characters.
extension TextPatternParser {
  private static let ascii = TextPattern.Bytes(~0, ~0, 0, 0)
  private static let beyond = TextPattern.Bytes(0, 0, ~0, ~0)
  private static let all = TextPattern.Bytes(repeating: ~0)
  private static let digit = range("0", "9")
  static let word = range("0", "9") | range("a", "z") | range("A", "Z") | bytes("_")
  private static let space = bytes(" \t\n\r\u{b}\u{c}")

  static func byte(_ byte: UInt8) -> TextPattern.Bytes {
    var bytes = TextPattern.Bytes.zero
    bytes[Int(byte >> 6)] = 1 << UInt64(byte & 63)
    return bytes
  }

  private static func bytes(_ text: String) -> TextPattern.Bytes { text.utf8.reduce(.zero) { $0 | byte($1) } }

  private static func range(_ low: Unicode.Scalar, _ high: Unicode.Scalar) -> TextPattern.Bytes {
    (low.value...high.value).reduce(.zero) { $0 | byte(UInt8(truncatingIfNeeded: $1)) }
  }

  private static func isPunctuation(_ scalar: Unicode.Scalar) -> Bool {
    scalar.isASCII && !has(word, scalar) && scalar.value > 32 && scalar.value < 127
  }

  private static func has(_ bytes: TextPattern.Bytes, _ scalar: Unicode.Scalar) -> Bool {
    scalar.isASCII && TextPattern.has(bytes, UInt8(truncatingIfNeeded: scalar.value))
  }

  private static func escape(_ scalar: Unicode.Scalar) throws(PatternProblem) -> TextPattern.Bytes {
    switch scalar {
    case "d": return digit
    case "D": return all & ~digit
    case "w": return word
    case "W": return all & ~word
    case "s": return space
    case "S": return all & ~space
    case "n": return byte(UInt8(ascii: "\n"))
    case "t": return byte(UInt8(ascii: "\t"))
    default:
      guard isPunctuation(scalar) else { throw PatternProblem(reason: "'\\\(scalar)' is not supported") }
      return byte(UInt8(truncatingIfNeeded: scalar.value))
    }
  }

  /// Returns a pattern part that matches one character of the set.
  ///
  /// If the set contains non-ASCII characters, the part matches all bytes of the character.
  private static func letter(_ bytes: TextPattern.Bytes) -> TextPatternPart {
    guard bytes & beyond != .zero else { return .bytes(bytes) }
    let more: TextPatternPart = .bytes(span(0x80, 0xbf))
    return .choice([
      .bytes(bytes & ascii), .sequence([.bytes(span(0xc2, 0xdf)), more]),
      .sequence([.bytes(span(0xe0, 0xef)), more, more]),
      .sequence([.bytes(span(0xf0, 0xf4)), more, more, more]),
    ])
  }

  private static func span(_ low: UInt8, _ high: UInt8) -> TextPattern.Bytes {
    (low...high).reduce(.zero) { $0 | byte($1) }
  }
}

/// Compiles the parts of a pattern into steps.
struct TextPatternBuilder {
  private(set) var steps: [TextPattern.Step] = []
  /// The number of parts that were compiled so far.
  ///
  /// This number has a separate limit, because empty parts have no steps, but nested repetitions multiply the parts.
  private var count = 0

  mutating func append(_ step: TextPattern.Step) throws(PatternProblem) {
    guard steps.count < TextPattern.stepLimit else { throw PatternProblem(reason: "it is too long") }
    steps.append(step)
  }

  mutating func add(_ part: TextPatternPart) throws(PatternProblem) {
    count += 1
    guard count <= 4 * TextPattern.stepLimit else { throw PatternProblem(reason: "it is too long") }
    switch part {
    case .bytes(let bytes): try append(.take(bytes))
    case .place(let step): try append(step)
    case .sequence(let parts): for part in parts { try add(part) }
    case .choice(let parts):
      var ends: [Int] = []
      for part in parts.dropLast() {
        let split = steps.count
        try append(.split(split + 1, split + 1))
        try add(part)
        ends.append(steps.count)
        try append(.jump(0))
        steps[split] = .split(split + 1, steps.count)
      }
      if let last = parts.last { try add(last) }
      for end in ends { steps[end] = .jump(steps.count) }
    case .repeated(let part, let least, let most):
      for _ in 0..<least { try add(part) }
      guard let most else { return try addAny(part) }
      var splits: [Int] = []
      for _ in least..<most {
        splits.append(steps.count)
        try append(.split(0, 0))
        try add(part)
      }
      for split in splits { steps[split] = .split(split + 1, steps.count) }
    }
  }

  private mutating func addAny(_ part: TextPatternPart) throws(PatternProblem) {
    let split = steps.count
    try append(.split(0, 0))
    try add(part)
    try append(.jump(split))
    steps[split] = .split(split + 1, steps.count)
  }
}
