/// A regular expression for untrusted strings.
///
/// A search takes linear time in the length of the string.
///
/// `TextPattern` replaces Swift's `Regex`, which backtracks. The search of `Regex` for a mail address takes minutes for
/// 64 KiB of letters. `TextPattern` instead follows all possible matches at once (Thompson's construction), and works
/// on bytes. Among the matches that begin at the earliest position, `TextPattern` finds the longest match.
/// `TextPattern` does not support back references, look-around or lazy repetition. Patterns with these features are
/// refused when settings are read.
struct TextPattern: Sendable {
  /// A set of byte values.
  typealias Bytes = SIMD4<UInt64>

  enum Step: Sendable {
    /// Consumes the next byte if the byte is in the set, and continues with the next step.
    case take(Bytes)
    /// Continues with both given steps at the same position, and consumes no byte.
    case split(Int, Int)
    case jump(Int)
    case start
    case end
    /// Matches the position between a word character (a letter, a digit or `_`) and any other character.
    case edge
    case found
  }

  let steps: [Step]
  /// The set of bytes with which a match can begin.
  private let first: Bytes
  /// Whether a match can be empty, or can begin with a step that only tests the position and consumes no byte.
  private let beginsAnywhere: Bool

  static let stepLimit = 2_000

  /// - Throws: `PatternProblem`, which states the unsupported part.
  init(_ text: String) throws(PatternProblem) {
    var parser = TextPatternParser(text)
    var builder = TextPatternBuilder()
    try builder.add(try parser.pattern())
    try builder.append(.found)
    steps = builder.steps
    (first, beginsAnywhere) = Self.beginnings(steps)
  }

  /// Returns the bytes with which a match can begin.
  private static func beginnings(_ steps: [Step]) -> (Bytes, Bool) {
    var (first, anywhere) = (Bytes.zero, false)
    var seen = Array(repeating: false, count: steps.count)
    var open = [0]
    while let index = open.popLast() {
      if seen[index] { continue }
      seen[index] = true
      switch steps[index] {
      case .take(let bytes): first |= bytes
      case .split(let one, let other): open += [one, other]
      case .jump(let target): open.append(target)
      case .start, .end, .edge: anywhere = true
      case .found: anywhere = true
      }
    }
    return (first, anywhere)
  }

  /// Returns the non-empty matches, in order.
  ///
  /// Returns nil if the search would take too long.
  func ranges(in text: [UInt8]) -> [Range<Int>]? {
    var found: [Range<Int>] = []
    var search = Search(pattern: self, text: text)
    while let range = search.next(from: found.last?.upperBound ?? 0), !search.isTooLong { found.append(range) }
    return search.isTooLong ? nil : found
  }

  static func has(_ bytes: Bytes, _ byte: UInt8) -> Bool { bytes[Int(byte >> 6)] >> UInt64(byte & 63) & 1 == 1 }
}

extension TextPattern {
  /// The state of a search: all partial matches at one position of the string.
  ///
  /// The partial matches are sorted by their start.
  private struct Search {
    let pattern: TextPattern
    let text: [UInt8]
    /// The number of steps that the search is still allowed to take in this string.
    ///
    /// The limit is needed because the search can read the bytes after a match several times.
    private var budget: Int
    private var now: [(step: Int, start: Int)] = []
    private var later: [(step: Int, start: Int)] = []
    /// For each step, the last position at which the step was added.
    ///
    /// The search adds each step only once per position.
    private var noted: [Int]
    private var open: [Int] = []

    var isTooLong: Bool { budget <= 0 }

    init(pattern: TextPattern, text: [UInt8]) {
      (self.pattern, self.text) = (pattern, text)
      // The maximum number of steps is sufficient to read each byte a few times in each step of the pattern.
      budget = 8 * pattern.steps.count * (text.count + 64)
      noted = Array(repeating: -1, count: pattern.steps.count)
    }

    mutating func next(from begin: Int) -> Range<Int>? {
      var best: Range<Int>?
      now = []
      budget -= noted.count
      for index in noted.indices { noted[index] = -1 }
      for place in begin...text.count {
        // If a match was already found, a match that begins later cannot replace it.
        if best == nil && mayBegin(at: place) { note(0, place, at: place, &best) }
        if now.isEmpty && best != nil || isTooLong { break }
        guard place < text.count else { break }
        let byte = text[place]
        later.removeAll(keepingCapacity: true)
        swap(&now, &later)
        for (step, start) in later {
          budget -= 1
          if let best, start > best.lowerBound { continue }
          if case .take(let bytes) = pattern.steps[step], TextPattern.has(bytes, byte) {
            note(step + 1, start, at: place + 1, &best)
          }
        }
      }
      return best
    }

    private func mayBegin(at place: Int) -> Bool {
      pattern.beginsAnywhere || place < text.count && TextPattern.has(pattern.first, text[place])
    }

    /// Follows all steps that consume no byte.
    private mutating func note(_ first: Int, _ start: Int, at place: Int, _ best: inout Range<Int>?) {
      open = [first]
      while let step = open.popLast() {
        if noted[step] == place { continue }
        noted[step] = place
        budget -= 1
        switch pattern.steps[step] {
        case .take: now.append((step, start))
        case .split(let one, let other): open += [one, other]
        case .jump(let target): open.append(target)
        case .start: if place == 0 { open.append(step + 1) }
        case .end: if place == text.count { open.append(step + 1) }
        case .edge: if isWord(place - 1) != isWord(place) { open.append(step + 1) }
        case .found:
          if place > start, best.map({ start <= $0.lowerBound }) ?? true { best = start..<place }
        }
      }
    }

    private func isWord(_ index: Int) -> Bool {
      text.indices.contains(index) && TextPattern.has(TextPatternParser.word, text[index])
    }
  }
}
