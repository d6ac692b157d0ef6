import CrashReport

/// The messages of the Swift runtime, divided into the message of the crash and the messages before it.
///
/// The runtime collects its messages during the whole life of the process. For example, a warning about a leaked
/// continuation can precede a trap by days.
struct RuntimeReports: Sendable, Equatable {
  /// The last fatal message; if there is none, the whole text, or an empty string if the text contains a warning.
  var last: String
  /// Whether the last message is of a kind that ends the process.
  var isFatal: Bool
  /// All messages before `last`; all messages if `last` is empty.
  var earlier: String

  init(_ text: String) {
    // A message can have several lines. The last fatal message begins at the last line that can begin one, and ends at
    // the end of `text`.
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    let start = lines.lastIndex(where: Self.beginsFatal)
    if let start {
      last = Self.joined(lines[start...])
      isFatal = true
      earlier = Self.joined(lines[..<start])
      return
    }
    isFatal = false
    guard let end = lines.lastIndex(where: { !$0.allSatisfy(\.isWhitespace) }) else {
      (last, earlier) = ("", "")
      return
    }
    if lines[...end].contains(where: Self.beginsWarning) {
      // If there is no fatal message, treat all lines as warnings.
      (last, earlier) = ("", Self.joined(lines[...]))
    } else {
      (last, earlier) = (Self.joined(lines[...]), "")
    }
  }

  private static func joined(_ lines: ArraySlice<Substring>) -> String {
    var lines = lines
    while lines.last?.allSatisfy(\.isWhitespace) == true { lines.removeLast() }
    return lines.joined(separator: "\n")
  }

  /// The first words of the standard library's fatal messages; a file and a line can precede these words.
  private static let fatalWords = ["Fatal error", "Precondition failed", "Assertion failed"]
  /// The beginnings of all other messages with which the Swift runtime ends the process.
  private static let fatalBeginnings = [
    "Could not cast value of type ", "Fatal access conflict detected", "Incorrect actor executor assumption",
    "Object 0x", "Attempted to read an unowned reference", "Attempted to retain object",
    "failed to demangle ",
  ]
  private static let warningBeginnings = [
    "SWIFT TASK CONTINUATION MISUSE: ", "warning: ", "Warning: ", "Simultaneous accesses to ",
  ]

  /// Whether the line is the first line of a fatal message, such as `File.swift:12: Fatal error: …` or `Fatal error:
  /// …`.
  private static func beginsFatal(_ line: Substring) -> Bool {
    if fatalBeginnings.contains(where: line.hasPrefix) { return true }
    for word in fatalWords {
      guard let place = line.firstRange(of: word) else { continue }
      let rest = line[place.upperBound...]
      let head = line[..<place.lowerBound]
      if rest.isEmpty || rest.hasPrefix(":"), head.isEmpty || SourcePlace(head) != nil { return true }
    }
    return false
  }

  private static func beginsWarning(_ line: Substring) -> Bool { warningBeginnings.contains(where: line.hasPrefix) }

  /// The source location in front of a message of the standard library, such as `shop/Cart.swift:12: `.
  struct SourcePlace: Sendable, Equatable {
    /// The last component of the file's path.
    var file: String
    var line: Int

    /// - Parameter text: The part of a message that ends with the source location.
    init?(_ text: Substring) {
      guard text.hasSuffix(": ") else { return nil }
      let place = text.dropLast(2)
      guard let colon = place.lastIndex(of: ":"), let line = Int(place[place.index(after: colon)...]), line > 0,
        let file = place[..<colon].split(separator: "/").last, !file.isEmpty
      else { return nil }
      self.file = String(file)
      self.line = line
    }
  }

  /// The source location of the last message; nil if the message has no location.
  var place: SourcePlace? {
    let line = last.prefix { !$0.isNewline }
    for word in Self.fatalWords {
      if let range = line.firstRange(of: word), let place = SourcePlace(line[..<range.lowerBound]) { return place }
    }
    return nil
  }
}

extension CrashFacts {
  /// Selects the runtime error message of this crash; empty if no message belongs to the crash.
  ///
  /// The result is empty for a trap instruction for which the compiler emitted a reason, because this trap does not
  /// call a function that reports a message.
  static func cause(
    in reports: RuntimeReports, isStop: Bool, isTrapWithReason: Bool, frames: [CrashReport.Frame]
  ) -> String {
    guard isStop, !isTrapWithReason, !reports.last.isEmpty else { return "" }
    if frames.isEmpty { return reports.last }
    for frame in frames.prefix(reportingReach) {
      if reportingFunctions.contains(where: frame.mangled.contains) { return reports.last }
      // If a frame has no name, it is unknown which function stopped the program. In this case, return the message only
      // if it is fatal, or if the frame is in a library of the Swift runtime.
      if frame.mangled.isEmpty, !isImage(frame, "libc.so") {
        return reports.isFatal || isImage(frame, "libswift") ? reports.last : ""
      }
      if frame.isOwn { return "" }
    }
    return ""
  }

  /// The lines of earlier messages, for the report; nil if there are none.
  var earlierWarnings: [String]? {
    let lines = CleanText.clean(earlierMessages).split(whereSeparator: \.isNewline).map(String.init)
    return lines.isEmpty ? nil : lines
  }

  /// The number of innermost frames in which crashd searches for a function that reports a message.
  private static let reportingReach = 12

  private static func isImage(_ frame: CrashReport.Frame, _ name: String) -> Bool {
    frame.image?.split(separator: "/").last?.hasPrefix(name) == true
  }

  /// The functions that report a message and then end the process.
  private static let reportingFunctions = [
    "_assertionFailure", "_fatalErrorMessage", "10fatalErrorEjPKcz", "11fatalErrorv", "swift_Concurrency_fatalError",
    "swift_dynamicCastFailure", "swift_abort", "swift_unexpectedError", "swift_errorInMain",
    "_swift_stdlib_reportFatalError", "_swift_stdlib_reportUnimplementedInitializer",
    "swift_task_reportUnexpectedExecutor", "swift_deletedMethodError", "_ZN5swift5crashEPKc",
  ]
}
