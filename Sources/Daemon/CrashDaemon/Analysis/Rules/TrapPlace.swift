import CrashSymbols

/// Where a check of Swift's failed, in the functions that were inlined there.
///
/// Of `f(x)!` swiftc gives the trap the line of the `!`, but the scope of `f`, which was inlined: the function that the
/// debug information calls the innermost one has not failed, and the line is not in it.
enum TrapPlace {
  /// The functions at a trap, innermost first, without those that had returned before the check.
  ///
  /// The innermost line is the check's. The function that has it is the innermost one that calls something there: what
  /// was inlined at this line of it, had returned.
  static func chain(_ chain: [SourceFrame]) -> [SourceFrame] {
    guard let leaf = chain.first, let file = leaf.file, let line = leaf.line, !leaf.isLineApproximate,
      let number = chain.indices.dropFirst().first(where: { chain[$0].file == file && chain[$0].line == line })
    else { return chain }
    let function = chain[number].mangled
    // A closure, or a function in a function, stands on the line of the one that it is in, and may have failed itself.
    guard !function.isEmpty, !chain[..<number].contains(where: { isPart($0.mangled, of: function) }) else {
      return chain
    }
    var kept = Array(chain[number...])
    // The check's column, not that of the call before it.
    kept[0].column = leaf.column ?? kept[0].column
    return kept
  }

  /// Whether a function's name begins with another one's: what is local to it is named so.
  private static func isPart(_ name: String, of function: String) -> Bool {
    let stem = function.prefix { $0 != "." }
    return name != function && name.hasPrefix(stem)
  }
}
