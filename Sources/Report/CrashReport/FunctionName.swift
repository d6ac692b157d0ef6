/// Shortens function names to at most 120 characters.
///
/// The short name keeps the innermost closure, and the type and the name of the function. Shortening is needed because
/// nested closures of generic functions have names of hundreds of characters. The JSON of a report contains the
/// complete names.
public enum FunctionName: Sendable {
  /// The maximum number of characters in a short name.
  public static let limit = 120

  /// Returns the name itself, or a shorter form with `…` in place of the omitted parts.
  ///
  /// The function omits, in this order, the closures between the innermost closure and the function, the labels, and
  /// the middle of the name.
  public static func short(_ name: String) -> String {
    // Compare the number of bytes first, because this is fast. A string has at least as many bytes as characters, so a
    // name within the limit in bytes is also short enough in characters.
    if name.utf8.count <= limit || name.count <= limit { return name }
    var short = name
    for shorten in [withoutMiddleClosures, withoutLabels] where short.count > limit { short = shorten(short) }
    if short.count <= limit { return short }
    // More characters are kept at the end of the name than at its start, because the end contains the type and the
    // function.
    let end = 2 * limit / 3
    return short.prefix(limit - end - 1) + "…" + short.suffix(end)
  }

  /// Shortens the name to the form `closure #1 in … in Cart.total(for:)`.
  private static func withoutMiddleClosures(_ name: String) -> String {
    let pieces = name.components(around: " in ")
    guard pieces.count > 2, let first = pieces.first, let last = pieces.last else { return name }
    return "\(first) in … in \(last)"
  }

  /// Shortens the name to the form `Cart.total(…)`.
  private static func withoutLabels(_ name: String) -> String {
    guard name.last == ")", let open = name.lastIndex(of: "(") else { return name }
    return name[..<open] + "(…)"
  }
}

extension String {
  /// Splits the string at a separator.
  ///
  /// The separator must be ASCII.
  fileprivate func components(around separator: String) -> [Substring] {
    var pieces: [Substring] = []
    var rest = self[...]
    while let range = rest.firstRange(of: separator) {
      pieces.append(rest[..<range.lowerBound])
      rest = rest[range.upperBound...]
    }
    return pieces + [rest]
  }
}
