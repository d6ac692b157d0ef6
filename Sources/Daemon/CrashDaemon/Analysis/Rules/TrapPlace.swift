import CrashSymbols

/// Finds the function with a failed Swift check among the functions that are inlined at the trap instruction.
///
/// For `f(x)!`, swiftc gives the trap instruction two pieces of debug information: the line of the `!`, and the scope
/// of the inlined function `f`. Therefore, the innermost function in the debug information is `f`, although the check
/// and its line are in the caller of `f`.
enum TrapPlace {
  /// Returns the functions at a trap instruction, innermost first, without inlined functions that had returned before
  /// the check failed.
  ///
  /// The first function of the result gets the line of the check, even if the call before the check is on another line
  /// of the expression.
  static func chain(_ chain: [SourceFrame]) -> [SourceFrame] {
    guard let leaf = chain.first, let file = leaf.file, let line = leaf.line, !leaf.isLineApproximate,
      let number = function(around: line, of: file, in: chain), number > 0
    else { return chain }
    var kept = Array(chain[number...])
    // Use the location of the check, and not the location of the call before the check.
    (kept[0].file, kept[0].line, kept[0].column) = (file, line, leaf.column ?? kept[0].column)
    return kept
  }

  /// Finds the function that contains a line: the last function that is declared above the line and that does not end
  /// above the line.
  private static func function(around line: Int, of file: String, in chain: [SourceFrame]) -> Int? {
    var found: (number: Int, line: Int)?
    var isDeclared = false
    for (number, frame) in chain.enumerated() {
      guard let declaration = frame.declaration, declaration.file == file else { continue }
      isDeclared = true
      guard declaration.line <= line, found.map({ $0.line < declaration.line }) != false,
        !hasEnded(frame, declaration.line, before: line, of: file, chain[(number + 1)...])
      else { continue }
      found = (number, declaration.line)
    }
    return isDeclared ? found?.number : caller(on: line, of: file, in: chain)
  }

  /// Whether a closure or nested function ends above a line of the enclosing function.
  ///
  /// The closure or nested function ends above the line if the enclosing function calls it on a line between the
  /// declaration and this line.
  private static func hasEnded(
    _ frame: SourceFrame, _ start: Int, before line: Int, of file: String, _ callers: ArraySlice<SourceFrame>
  ) -> Bool {
    guard let outer = callers.first(where: { isPart(frame.mangled, of: $0.mangled) }), outer.file == file,
      let call = outer.line
    else { return false }
    return start < call && call <= line
  }

  /// Finds the function that contains a line if the lines of declarations are unknown: the innermost function that
  /// contains a call on this line.
  ///
  /// The functions that were inlined on this line had returned before the check. Returns nil if a closure or nested
  /// function begins on the same line as the enclosing function.
  private static func caller(on line: Int, of file: String, in chain: [SourceFrame]) -> Int? {
    guard let number = chain.indices.dropFirst().first(where: { chain[$0].file == file && chain[$0].line == line }),
      !chain[number].mangled.isEmpty,
      !chain[..<number].contains(where: { isPart($0.mangled, of: chain[number].mangled) })
    else { return nil }
    return number
  }

  /// Whether a function's name begins with the name of another function, as the names of local functions do.
  private static func isPart(_ name: String, of function: String) -> Bool {
    let stem = function.prefix { $0 != "." }
    return !stem.isEmpty && name != function && name.hasPrefix(stem)
  }
}
