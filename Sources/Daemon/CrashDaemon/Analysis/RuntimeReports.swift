import CrashReport

/// What the Swift runtime said, cut into what belongs to the crash and what it said before.
///
/// Its text grows for the life of the process: a leaked continuation of yesterday stands in front of today's trap.
struct RuntimeReports: Sendable, Equatable {
  /// The last report; empty where that is a warning.
  var last: String
  /// Whether the last report says by its words that it ended the process.
  var isFatal: Bool
  /// All that the runtime said before.
  var earlier: String

  init(_ text: String) {
    // A report may have several lines: it goes from the line that begins it to the end.
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
      // What the runtime goes on after is a warning as a whole.
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

  /// The standard library's own checks, with or without file and line in front.
  private static let fatalWords = ["Fatal error", "Precondition failed", "Assertion failed"]
  /// The runtime's texts that have none of these words, and end the process.
  private static let fatalBeginnings = [
    "Could not cast value of type ", "Fatal access conflict detected", "Incorrect actor executor assumption",
    "Object 0x", "Attempted to read an unowned reference", "Attempted to retain object",
    "failed to demangle ",
  ]
  private static let warningBeginnings = [
    "SWIFT TASK CONTINUATION MISUSE: ", "warning: ", "Warning: ", "Simultaneous accesses to ",
  ]

  /// `File.swift:12: Fatal error: …`, `Fatal error: …`.
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

  /// The place that the standard library puts in front of its message: `shop/Cart.swift:12: `.
  struct SourcePlace: Sendable, Equatable {
    /// The last part of the file's path.
    var file: String
    var line: Int

    /// - Parameter text: Ends behind the place.
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

  /// Where the last report says that it comes from; nil where it does not say.
  var place: SourcePlace? {
    let line = last.prefix { !$0.isNewline }
    for word in Self.fatalWords {
      if let range = line.firstRange(of: word), let place = SourcePlace(line[..<range.lowerBound]) { return place }
    }
    return nil
  }
}

extension CrashFacts {
  /// What the Swift runtime said as it stopped the program; empty where nothing of its text belongs to this crash.
  ///
  /// An instruction that carries its own reason has not called anything that says one.
  static func cause(
    in reports: RuntimeReports, isStop: Bool, isTrapWithReason: Bool, frames: [CrashReport.Frame]
  ) -> String {
    guard isStop, !isTrapWithReason, !reports.last.isEmpty else { return "" }
    if frames.isEmpty { return reports.last }
    for frame in frames.prefix(reportingReach) {
      if reportingFunctions.contains(where: frame.mangled.contains) { return reports.last }
      // Without names it is unknown what stopped the program: only a message that says so itself is its reason.
      if frame.mangled.isEmpty, !isImage(frame, "libc.so") {
        return reports.isFatal || isImage(frame, "libswift") ? reports.last : ""
      }
      if frame.isOwn { return "" }
    }
    return ""
  }

  /// For the report, a line each; nil where the runtime said nothing before.
  var earlierWarnings: [String]? {
    let lines = CleanText.clean(earlierMessages).split(whereSeparator: \.isNewline).map(String.init)
    return lines.isEmpty ? nil : lines
  }

  /// The report stands on the stack within so many frames.
  private static let reportingReach = 12

  private static func isImage(_ frame: CrashReport.Frame, _ name: String) -> Bool {
    frame.image?.split(separator: "/").last?.hasPrefix(name) == true
  }

  /// What says something and then ends the process.
  private static let reportingFunctions = [
    "_assertionFailure", "_fatalErrorMessage", "10fatalErrorEjPKcz", "11fatalErrorv", "swift_Concurrency_fatalError",
    "swift_dynamicCastFailure", "swift_abort", "swift_unexpectedError", "swift_errorInMain",
    "_swift_stdlib_reportFatalError", "_swift_stdlib_reportUnimplementedInitializer",
    "swift_task_reportUnexpectedExecutor", "swift_deletedMethodError", "_ZN5swift5crashEPKc",
  ]
}
