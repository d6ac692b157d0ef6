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
    let text = String(decoding: try encoder.encode(value), as: UTF8.self)
    return Self.escaped(text) + "\n"
  }

  /// JSON allows some characters that a terminal takes for commands; they can only stand inside of strings.
  static func escaped(_ text: String) -> String {
    let isLayout = { (scalar: Unicode.Scalar) in scalar == "\n" }
    guard text.unicodeScalars.contains(where: { Terminal.isUnsafe($0) && !isLayout($0) }) else { return text }
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      if Terminal.isUnsafe(scalar) && !isLayout(scalar) {
        let digits = String(scalar.value, radix: 16)
        result.append(contentsOf: ("\\u" + String(repeating: "0", count: 4 - digits.count) + digits).unicodeScalars)
      } else {
        result.append(scalar)
      }
    }
    return String(result)
  }
}
