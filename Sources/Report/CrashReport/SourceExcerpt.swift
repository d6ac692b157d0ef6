/// The lines of a source file around the line of a frame.
public struct SourceExcerpt: Sendable, Equatable {
  /// The number of lines that are shown before and after the line of the frame.
  public static let context = 3

  /// The number of the first line of the excerpt, starting with 1.
  public var first: Int
  /// The lines of the excerpt, without line breaks.
  public var lines: [String]
  /// The line number of the frame.
  public var line: Int

  /// Extracts the lines around `line` from the contents of a file.
  ///
  /// Returns nil if the file has no such line.
  ///
  /// The bytes are read once, and only up to the last line of the excerpt. Only the lines of the excerpt are converted
  /// to strings.
  public init?(of bytes: [UInt8], around line: Int) {
    guard line >= 1, line <= bytes.count + 1 else { return nil }
    first = max(1, line - Self.context)
    self.line = line
    lines = []
    var number = 1
    var start = 0
    while number <= line + Self.context {
      let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
      if number >= first { lines.append(Self.text(bytes[start..<end])) }
      guard end < bytes.count else { break }
      number += 1
      start = end + 1
    }
    guard first + lines.count > line else { return nil }
    while lines.last?.isEmpty == true && first + lines.count - 1 > line { lines.removeLast() }
  }

  private static func text(_ bytes: ArraySlice<UInt8>) -> String {
    String(decoding: bytes.last == UInt8(ascii: "\r") ? bytes.dropLast() : bytes, as: UTF8.self)
  }
}

/// Finds the source excerpt of a frame.
///
/// Returns nil if the source is not available.
public typealias SourceLookup = @Sendable (CrashReport.Frame) -> SourceExcerpt?
