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
    let text = String(decoding: try encoder.encode(value), as: UTF8.self)
    return CleanText.json(text) + "\n"
  }
}
