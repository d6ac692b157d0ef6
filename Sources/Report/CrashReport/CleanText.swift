/// Text from outside, made safe to show: a crashed process must not reach the operator's terminal.
///
/// Control characters can move the cursor, recolour or retitle a terminal; bidirectional marks can show a path that is
/// not the one that is stored.
public enum CleanText: Sendable {
  /// Repairs UTF-8 and makes what a terminal would obey visible.
  public static func decode(_ bytes: some Sequence<UInt8>) -> String {
    clean(String(decoding: Array(bytes), as: UTF8.self))
  }

  /// The text with each control character but line feed and tab replaced by its picture (`␛`), or by U+FFFD when it
  /// has none.
  public static func clean(_ text: String) -> String {
    if isPlain(text) || !text.unicodeScalars.contains(where: isUnsafe) { return text }
    var scalars = String.UnicodeScalarView()
    for scalar in text.unicodeScalars { scalars.append(isUnsafe(scalar) ? picture(of: scalar) : scalar) }
    return String(scalars)
  }

  /// Like `clean`, for places that hold one line: line feeds become `␊`, tabs a space.
  public static func line(_ text: String) -> String {
    if isPlain(text) { return text }
    var scalars = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\t": scalars.append(" ")
      case "\n": scalars.append(picture(of: scalar))
      default: scalars.append(isUnsafe(scalar) ? picture(of: scalar) : scalar)
      }
    }
    return String(scalars)
  }

  /// JSON with escapes for what a terminal would obey and JSON allows unescaped; it can only stand inside strings.
  public static func json(_ json: String) -> String {
    if !json.unicodeScalars.contains(where: isUnsafe) { return json }
    var scalars = String.UnicodeScalarView()
    for scalar in json.unicodeScalars {
      if isUnsafe(scalar) {
        scalars.append(contentsOf: "\\u\(scalar.value.hexadecimal(digits: 4))".unicodeScalars)
      } else {
        scalars.append(scalar)
      }
    }
    return String(scalars)
  }

  /// Whether there is nothing but ASCII's letters, digits, signs and blanks, as in most texts.
  private static func isPlain(_ text: String) -> Bool { text.utf8.allSatisfy { (0x20...0x7e).contains($0) } }

  /// Whether a terminal would obey it, or show something else than what is stored.
  public static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x09, 0x0a: false
    case 0x00...0x1f, 0x7f...0x9f: true
    // Arabic letter mark, direction marks, line and paragraph separators, embeddings, overrides and isolates.
    case 0x061c, 0x200e, 0x200f, 0x2028...0x202e, 0x2066...0x2069: true
    default: false
    }
  }

  private static func picture(of scalar: Unicode.Scalar) -> Unicode.Scalar {
    switch scalar.value {
    case 0x00...0x1f: Unicode.Scalar(0x2400 + scalar.value) ?? "\u{fffd}"
    case 0x7f: "\u{2421}"
    default: "\u{fffd}"
    }
  }
}
