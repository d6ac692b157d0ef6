internal import CrashReport
internal import FoundationEssentials

/// `--json`: coredumpctl's words.
public enum JSONStyle: String, Sendable, CaseIterable {
  /// Indented.
  case pretty
  /// One line a value.
  case short
  /// Text for people.
  case off

  /// The value and a newline; keys are sorted, so that equal values give equal text.
  public func text(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    if self == .pretty { encoder.outputFormatting.insert(.prettyPrinted) }
    let encoded = String(decoding: try encoder.encode(value), as: UTF8.self)
    // The encoder's empty array has an empty line in it.
    let text = encoded == "[\n\n]" ? "[]" : encoded
    return CleanText.json(text) + "\n"
  }
}

/// Writes a JSON array piece by piece, so that a long one is never whole in memory: the same text as of the whole array.
public struct JSONArrayWriter: Sendable {
  private let style: JSONStyle
  private var isEmpty = true

  /// Makes a writer of an array in a style.
  public init(_ style: JSONStyle) { self.style = style }

  /// The text of the next elements.
  public mutating func text(_ elements: [some Encodable]) throws -> String {
    guard !elements.isEmpty else { return "" }
    // "[", a line break where there is one, the elements, and the same at the end.
    let (opening, closing) = style == .pretty ? ("[\n", "\n]\n") : ("[", "]\n")
    let whole = try style.text(elements)
    let inside = whole.dropFirst(opening.count).dropLast(closing.count)
    defer { isEmpty = false }
    return (isEmpty ? opening : style == .pretty ? ",\n" : ",") + inside
  }

  /// The text that ends the array.
  public func end() throws -> String {
    if isEmpty { return try style.text([String]()) }
    return style == .pretty ? "\n]\n" : "]\n"
  }
}
