/// Shortens function names to at most 120 characters.
///
/// The innermost part and the function's type and name stay.
///
/// Closures in closures of generic functions have names of hundreds of characters. JSON contains the complete name.
public enum FunctionName: Sendable {
  /// The limit in characters.
  public static let limit = 120

  /// The name, or a shorter form of it with `…` in place of the omitted parts.
  ///
  /// First the closures between the innermost one and the function are omitted, then the labels, then the middle.
  public static func short(_ name: String) -> String {
    // The number of bytes is at least the number of characters.
    if name.utf8.count <= limit || name.count <= limit { return name }
    var short = name
    for shorten in [withoutMiddleClosures, withoutLabels] where short.count > limit { short = shorten(short) }
    if short.count <= limit { return short }
    // The type and the name are at the end.
    let end = 2 * limit / 3
    return short.prefix(limit - end - 1) + "…" + short.suffix(end)
  }

  /// `closure #1 in … in Cart.total(for:)`.
  private static func withoutMiddleClosures(_ name: String) -> String {
    let pieces = name.components(around: " in ")
    guard pieces.count > 2, let first = pieces.first, let last = pieces.last else { return name }
    return "\(first) in … in \(last)"
  }

  /// `Cart.total(…)`.
  private static func withoutLabels(_ name: String) -> String {
    guard name.last == ")", let open = name.lastIndex(of: "(") else { return name }
    return name[..<open] + "(…)"
  }
}

extension String {
  /// The pieces between the separators, which are ASCII.
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
