import CrashReport

/// Words of the runtime and of glibc, cut down to what a sentence needs.
enum MessageText {
  private static let sentenceLimit = 200

  /// The first line without its full stop, for a sentence; `…` where there is more.
  static func line(_ text: String) -> String {
    let lines = text.split(whereSeparator: \.isNewline)
    var clean = CleanText.line(lines.first.map(String.init) ?? "")
    let isWhole = lines.count <= 1 && clean.count <= sentenceLimit
    if clean.hasSuffix(".") && !clean.hasSuffix("..") { clean.removeLast() }
    return isWhole ? clean : clean.prefix(sentenceLimit) + "…"
  }

  /// Swift's message without `File.swift:12: Fatal error: `.
  static func core(_ text: String) -> String {
    let line = line(text)
    let shorter = line.replacing(
      /^.*?(?:Fatal error|Precondition failed|Assertion failed)(?:: )?/, with: "", maxReplacements: 1)
    return shorter.isEmpty ? line : shorter
  }

  /// A function's name without what the compiler hangs on: `dispatch_group_leave.cold.1`.
  static func stem(_ mangled: String) -> String { CleanText.line(mangled.prefix { $0 != "." }.description) }

  private static let heapWords = [
    "double free", "free(): ", "malloc(): ", "realloc(): ", "munmap_chunk(): ", "corrupted", "malloc_consolidate(): ",
    "unaligned tcache chunk",
  ]

  /// What glibc's malloc says before it aborts.
  static func isHeapMessage(_ text: String) -> Bool { heapWords.contains { text.contains($0) } }
}

/// A signal's name, for sentences.
enum SignalText {
  static func name(_ signal: Int32) -> String { SignalNames.name(of: Int(signal)) }
}
