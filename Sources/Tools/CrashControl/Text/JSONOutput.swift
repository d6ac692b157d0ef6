internal import CrashReport
internal import FoundationEssentials

/// The values of the option `--json`, which are the same as for coredumpctl.
public enum JSONStyle: String, Sendable, CaseIterable {
  /// JSON with indentation, on several lines.
  case pretty
  /// JSON with one line per value.
  case short
  /// Text for people instead of JSON.
  case off

  /// Returns the value as JSON, followed by a newline.
  ///
  /// Keys are sorted, so that equal values have equal JSON.
  public func text(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    if self == .pretty { encoder.outputFormatting.insert(.prettyPrinted) }
    let encoded = String(decoding: try encoder.encode(value), as: UTF8.self)
    // Remove the empty line that the encoder writes into an empty array.
    let text = encoded == "[\n\n]" ? "[]" : encoded
    return CleanText.json(text) + "\n"
  }
}

/// Writes a JSON array piece by piece, to avoid holding a long array in memory.
///
/// The output equals the JSON of the whole array.
public struct JSONArrayWriter: Sendable {
  private let style: JSONStyle
  private var isEmpty = true

  /// Creates a writer for one array in a style.
  public init(_ style: JSONStyle) { self.style = style }

  /// Returns the JSON of the next elements.
  public mutating func text(_ elements: [some Encodable]) throws -> String {
    guard !elements.isEmpty else { return "" }
    // Remove both brackets of the encoded array, and the line breaks next to them.
    let (opening, closing) = style == .pretty ? ("[\n", "\n]\n") : ("[", "]\n")
    let whole = try style.text(elements)
    let inside = whole.dropFirst(opening.count).dropLast(closing.count)
    defer { isEmpty = false }
    return (isEmpty ? opening : style == .pretty ? ",\n" : ",") + inside
  }

  /// Returns the end of the array.
  public func end() throws -> String {
    if isEmpty { return try style.text([String]()) }
    return style == .pretty ? "\n]\n" : "]\n"
  }
}
