/// Finds record lines in a log, in one pass.
///
/// Each begins with a fixed string, the mark.
///
/// The log can have any bytes and lines of any length. Memory is limited by the length of one record line, and time is
/// linear in the length of the log.
public struct RecordScanner: Sendable {
  /// A text in a log that begins like a record line.
  public struct Found: Sendable, Equatable {
    /// The number of the line in the log, from 1.
    public var line: Int
    /// The text, from its mark up to the first character that a record line cannot contain.
    public var text: String

    /// Creates a value from its parts.
    public init(line: Int, text: String) { (self.line, self.text) = (line, text) }
  }

  private static let mark = Array(RecordLine.mark.utf8)
  /// For each number of matched characters of the mark, the number of characters that still match after a mismatch.
  ///
  /// The index is the number of characters that matched before the mismatch, minus 1. The array is the failure function
  /// of Knuth, Morris and Pratt.
  private static let matchedAfterMismatch: [Int] = mark.indices.map { index in
    let matched = mark.prefix(index + 1)
    return (0...index).last { matched.prefix($0) == matched.suffix($0) } ?? 0
  }
  private var line = 1
  /// The number of characters at the start of the mark that match the end of the bytes read so far.
  private var matched = 0
  /// The text that the scanner is reading, from its mark on; empty if the scanner is outside such a text.
  private var text: [UInt8] = []

  /// Creates a scanner at the beginning of a log.
  public init() {}

  /// Reads bytes of the log from `position` on, and returns the first text that ends in these bytes.
  ///
  /// After the call, `position` is the offset of the first byte that was not read.
  public mutating func next(in bytes: [UInt8], from position: inout Int) -> Found? {
    while position < bytes.count {
      let byte = bytes[position]
      position += 1
      let found = read(byte)
      if byte == UInt8(ascii: "\n") { line += 1 }
      if let found { return found }
    }
    return nil
  }

  /// Returns the text that reaches to the end of the log; nil if there is none.
  public mutating func end() -> Found? {
    defer { text = [] }
    return found(text)
  }

  private mutating func read(_ byte: UInt8) -> Found? {
    while matched > 0, byte != Self.mark[matched] { matched = Self.matchedAfterMismatch[matched - 1] }
    if byte == Self.mark[matched] { matched += 1 }
    let isComplete = matched == Self.mark.count
    if isComplete { matched = 0 }
    if text.isEmpty {
      if isComplete { text = Self.mark }
      return nil
    }
    if isComplete {
      // Return the text before this mark as an incomplete line. A process ended while it wrote that line, and another
      // process then wrote a line directly after it.
      let cut = found(text.dropLast(Self.mark.count - 1))
      text = Self.mark
      return cut
    }
    if Self.isDigit(byte), text.count < RecordLine.limitBytes {
      text.append(byte)
      return nil
    }
    defer { text = [] }
    return found(text)
  }

  private func found(_ text: some Collection<UInt8>) -> Found? {
    text.isEmpty ? nil : Found(line: line, text: String(decoding: text, as: UTF8.self))
  }

  /// Whether a record line can contain the given character after the mark.
  private static func isDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: ":"):
      true
    default: false
    }
  }
}
