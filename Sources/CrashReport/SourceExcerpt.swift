/// A few lines of a source file around the line of a frame.
public struct SourceExcerpt: Sendable, Equatable {
  /// How many lines stand on each side of the frame's own.
  public static let context = 3

  /// The number of the first line, from 1.
  public var first: Int
  /// The lines, without their ends.
  public var lines: [String]
  /// The frame's own line.
  public var line: Int

  /// Cuts the lines around `line` out of a file's text; nil when it has no such line.
  public init?(of text: String, around line: Int) {
    guard line >= 1, line < Int(Int32.max) else { return nil }
    let all = text.split(maxSplits: line + Self.context, omittingEmptySubsequences: false) { character in
      character == "\n" || character == "\r\n"
    }
    // What follows the last cut is the rest of the file.
    let lines = all.prefix(line + Self.context)
    guard line <= lines.count else { return nil }
    first = max(1, line - Self.context)
    self.line = line
    self.lines = lines[(first - 1)...].map(String.init)
    while self.lines.last?.isEmpty == true && first + self.lines.count - 1 > line { self.lines.removeLast() }
  }
}

/// Finds the source of a frame; nil where it is not to be had.
public typealias SourceLookup = @Sendable (CrashReport.Frame) -> SourceExcerpt?
