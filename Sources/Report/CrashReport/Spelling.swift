/// Suggests the correct name for a mistyped name.
public enum Spelling: Sendable {
  /// Returns the known name with the smallest edit distance; nil if no name is similar.
  public static func nearest(to name: String, among names: some Sequence<String>) -> String? {
    let found = names.map { ($0, distance(name, $0)) }.min { ($0.1, $0.0) < ($1.1, $1.0) }
    guard let found, found.1 <= max(2, name.count / 3) else { return nil }
    return found.0
  }

  /// Returns a suggestion that can be appended to a sentence.
  ///
  /// The result is empty if no name is similar.
  public static func meant(_ name: String, among names: some Sequence<String>) -> String {
    nearest(to: name, among: names).map { "; did you mean '\($0)'?" } ?? ""
  }

  /// Returns the edit distance of two strings (Levenshtein).
  private static func distance(_ left: String, _ right: String) -> Int {
    // Long strings are truncated, because the cost is the product of both lengths.
    let (left, right) = (Array(left.utf8.prefix(64)), Array(right.utf8.prefix(64)))
    var row = Array(0...right.count)
    for (index, letter) in left.enumerated() {
      var corner = row[0]
      row[0] = index + 1
      for column in right.indices {
        let changed = corner + (letter == right[column] ? 0 : 1)
        corner = row[column + 1]
        row[column + 1] = min(changed, corner + 1, row[column] + 1)
      }
    }
    return row[right.count]
  }
}
