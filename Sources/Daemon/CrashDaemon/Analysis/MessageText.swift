import CrashReport

/// Shortens the messages of the runtime and of glibc, so that a sentence can contain them.
enum MessageText {
  private static let sentenceLimit = 200

  /// Returns the first line of a message, without a full stop; `…` replaces the rest if the message is too long.
  static func line(_ text: String) -> String {
    let lines = text.split(whereSeparator: \.isNewline)
    var clean = CleanText.line(lines.first.map(String.init) ?? "")
    let isWhole = lines.count <= 1 && clean.count <= sentenceLimit
    if clean.hasSuffix(".") && !clean.hasSuffix("..") { clean.removeLast() }
    return isWhole ? clean : clean.prefix(sentenceLimit) + "…"
  }

  /// Returns a Swift message without the prefix `File.swift:12: Fatal error: `.
  static func core(_ text: String) -> String {
    var line = line(text)
    let shorter = line.replacing(
      /^.*?(?:Fatal error|Precondition failed|Assertion failed)(?::\s*)?/, with: "", maxReplacements: 1)
    if !shorter.isEmpty { return shorter }
    // If the program gave no message, only colons and spaces follow the prefix.
    while let last = line.last, last == ":" || last.isWhitespace { line.removeLast() }
    return line
  }

  /// Returns a function's name without the compiler's suffixes, as in `dispatch_group_leave.cold.1`.
  static func stem(_ mangled: String) -> String { CleanText.line(mangled.prefix { $0 != "." }.description) }

  /// The beginnings of the messages that glibc's malloc prints before it aborts: all messages of malloc in 2.36, and
  /// its assertions since 2.37.
  private static let heapWords = [
    "double free or corruption", "corrupted size vs. prev_size", "corrupted double-linked list", "free(): ",
    "malloc(): ", "realloc(): ", "malloc_consolidate(): ", "munmap_chunk(): ", "mremap_chunk(): ",
    "tcache_thread_shutdown(): ", "int_mallinfo(): ", "__malloc_info(): ",
    "break adjusted to free malloc space", "Fatal glibc error: malloc assertion failure in ",
    "Fatal glibc error: malloc.c:", "Fatal glibc error: arena.c:",
  ]

  /// Whether glibc's malloc wrote the message before it aborted.
  ///
  /// Only messages of malloc are recognized, because other messages of glibc can contain strings of the program.
  static func isHeapMessage(_ text: String) -> Bool { heapWords.contains(where: text.hasPrefix) }

  /// Whether assert() wrote the message.
  ///
  /// A message of assert() begins with the name of the executable.
  static func isAssertion(_ text: String) -> Bool {
    guard !isHeapMessage(text) else { return false }
    return text.contains(": Assertion `")
      || text.hasPrefix("Fatal glibc error: ") && text.contains("assertion failed: ")
  }
}

/// The names of signals, for use in sentences.
enum SignalText {
  static func name(_ signal: Int32) -> String { SignalNames.name(of: Int(signal)) }
}
