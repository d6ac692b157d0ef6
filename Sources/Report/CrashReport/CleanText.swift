/// Makes an untrusted string safe to print.
///
/// Without cleaning, a crashed process could control the operator's terminal. Control characters can move the cursor,
/// and can change the colors and the title of a terminal. Bidirectional marks can make a path look different from the
/// stored path.
public enum CleanText: Sendable {
  /// Decodes UTF-8, replaces invalid bytes, and makes control characters visible.
  public static func decode(_ bytes: some Sequence<UInt8>) -> String {
    clean(String(decoding: Array(bytes), as: UTF8.self))
  }

  /// Replaces each control character except line feed and tab with its symbol (`␛`), or with U+FFFD if it has no
  /// symbol.
  public static func clean(_ text: String) -> String {
    if isPlain(text) || !text.unicodeScalars.contains(where: isUnsafe) { return text }
    var scalars = String.UnicodeScalarView()
    for scalar in text.unicodeScalars { scalars.append(isUnsafe(scalar) ? picture(of: scalar) : scalar) }
    return String(scalars)
  }

  /// Cleans a string as `clean` does, and also makes it a single line.
  ///
  /// A line feed becomes `␊`, and a tab becomes a space.
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

  /// Escapes the characters in JSON that a terminal would interpret but that JSON allows unescaped.
  ///
  /// These characters can occur only inside JSON strings.
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

  /// Returns whether the string contains only blanks and invisible characters.
  public static func isBlank(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy { scalar in
      !isUnsafe(scalar) && (scalar.properties.isWhitespace || scalar.properties.isDefaultIgnorableCodePoint)
    }
  }

  /// Returns whether the string contains only printable ASCII characters and blanks.
  ///
  /// Most strings are plain, so this fast check avoids the slower cleaning.
  private static func isPlain(_ text: String) -> Bool { text.utf8.allSatisfy { (0x20...0x7e).contains($0) } }

  /// Returns whether a terminal would interpret the character or would display a different text because of it.
  public static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x09, 0x0a: false
    case 0x00...0x1f, 0x7f...0x9f: true
    // The characters that a terminal would interpret or display differently are the Arabic letter mark, direction
    // marks, line and paragraph separators, embeddings, overrides and isolates.
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
