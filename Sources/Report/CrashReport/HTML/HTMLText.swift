/// HTML that is safely built from untrusted strings.
///
/// All escaping is done in this type.
struct HTMLText: CustomStringConvertible, ExpressibleByStringInterpolation {
  private(set) var description: String

  /// Creates trusted markup.
  ///
  /// The parameter must be a literal, so that no untrusted string can become markup.
  init(stringLiteral markup: String) { description = markup }

  /// Creates one line of escaped text.
  init(_ text: some StringProtocol) { description = Self.escape(CleanText.line(String(text))) }

  init(stringInterpolation: Interpolation) { description = stringInterpolation.html }

  /// Escapes the values in a string interpolation.
  ///
  /// Values that are already HTML are not escaped.
  struct Interpolation: StringInterpolationProtocol {
    fileprivate var html = ""

    init(literalCapacity: Int, interpolationCount: Int) { html.reserveCapacity(literalCapacity) }

    mutating func appendLiteral(_ literal: String) { html += literal }
    mutating func appendInterpolation(_ text: String) { html += HTMLText(text).description }
    mutating func appendInterpolation(_ number: Int) { html += String(number) }
    mutating func appendInterpolation(_ text: HTMLText) { html += text.description }
  }

  static func + (left: HTMLText, right: HTMLText) -> HTMLText {
    var sum = left
    sum += right
    return sum
  }

  static func += (left: inout HTMLText, right: HTMLText) { left.description += right.description }

  private static func escape(_ text: String) -> String {
    var scalars = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
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
}

extension Sequence<HTMLText> {
  /// Joins the elements, with one element per line.
  ///
  /// Complexity: linear in the length of the result, because a hostile report has many elements.
  func joined() -> HTMLText {
    reduce(into: "") { all, element in
      all += element
      all += "\n"
    }
  }
}
