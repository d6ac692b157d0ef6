internal import CrashReport
internal import Mustache

/// Escapes the strings that templates insert.
///
/// swift-mustache's own escaping compares characters (grapheme clusters). It does not escape a quotation mark before a
/// combining mark, because both are one character. A browser compares scalars, so this quotation mark would end an
/// attribute. This type escapes each scalar, replaces control characters and bidirectional marks, and truncates very
/// long strings.
struct CrashText: MustacheContentType {
  /// The name of the content type in templates.
  static let name = "CRASH"
  /// The number of scalars after which a text is cut.
  static let limit = 600
  /// The number of scalars after which a link is cut.
  ///
  /// All links are shorter: a search has at most `SearchParser.limit` bytes and a cursor 200 bytes, percent-encoded.
  /// This is necessary, because a truncated link would lead to another page.
  static let linkLimit = 2_400

  func escapeText(_ text: String) -> String { Self.escape(text) }

  static func escape(_ text: String) -> String {
    let line = CleanText.line(clip(text, to: PagePath.isPath(text) ? linkLimit : limit))
    var scalars = String.UnicodeScalarView()
    for scalar in line.unicodeScalars {
      switch scalar {
      case "&": scalars.append(contentsOf: "&amp;".unicodeScalars)
      case "<": scalars.append(contentsOf: "&lt;".unicodeScalars)
      case ">": scalars.append(contentsOf: "&gt;".unicodeScalars)
      case "\"": scalars.append(contentsOf: "&quot;".unicodeScalars)
      case "'": scalars.append(contentsOf: "&#39;".unicodeScalars)
      default: scalars.append(scalar)
      }
    }
    return String(scalars)
  }

  /// Truncates a string that is longer than the limit.
  static func clip(_ text: String, to limit: Int = limit) -> String {
    let scalars = text.unicodeScalars
    guard let end = scalars.index(scalars.startIndex, offsetBy: limit, limitedBy: scalars.endIndex),
      end != scalars.endIndex
    else { return text }
    return String(scalars[..<end]) + "…"
  }

  /// Truncates a string, or a substitute if the string has no visible character.
  ///
  /// A heading or a link needs visible text.
  static func visible(_ text: String, to limit: Int = limit, or substitute: String) -> String {
    clip(CleanText.isBlank(text) ? substitute : text, to: limit)
  }
}
