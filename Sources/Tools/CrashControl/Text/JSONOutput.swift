internal import CrashReport
internal import FoundationEssentials

/// The values of `--json`, which are those of coredumpctl.
public enum JSONStyle: String, Sendable, CaseIterable {
  /// Indented JSON.
  case pretty
  /// One line per value.
  case short
  /// Text for people, and no JSON.
  case off

  /// Returns the value as JSON, followed by a newline.
  ///
  /// Keys are sorted, so that equal values give equal text.
  public func text(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    if self == .pretty { encoder.outputFormatting.insert(.prettyPrinted) }
    let encoded = String(decoding: try encoder.encode(value), as: UTF8.self)
    // The encoder writes an empty line into an empty array.
    let text = encoded == "[\n\n]" ? "[]" : encoded
    return CleanText.json(text) + "\n"
  }
}

/// Writes a JSON array piece by piece, to avoid holding a long array in memory.
///
/// The text equals that of the whole array.
public struct JSONArrayWriter: Sendable {
  private let style: JSONStyle
  private var isEmpty = true

  /// Creates a writer for one array in a style.
  public init(_ style: JSONStyle) { self.style = style }

  /// Returns the text of the next elements.
  public mutating func text(_ elements: [some Encodable]) throws -> String {
    guard !elements.isEmpty else { return "" }
    // Remove the opening bracket, its line break if there is one, and the same at the end.
    let (opening, closing) = style == .pretty ? ("[\n", "\n]\n") : ("[", "]\n")
    let whole = try style.text(elements)
    let inside = whole.dropFirst(opening.count).dropLast(closing.count)
    defer { isEmpty = false }
    return (isEmpty ? opening : style == .pretty ? ",\n" : ",") + inside
  }

  /// Returns the text that ends the array.
  public func end() throws -> String {
    if isEmpty { return try style.text([String]()) }
    return style == .pretty ? "\n]\n" : "]\n"
  }
}
