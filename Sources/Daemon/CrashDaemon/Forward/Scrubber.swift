import CrashProtocol
import CrashReport
import FoundationEssentials

/// Takes out of a report what the privacy rules name.
///
/// It works on the report's JSON, so that a field that a later version adds is scrubbed too.
struct Scrubber {
  private let texts: TextScrubber

  /// - Throws: For a pattern that is not understood; settings are checked for that before.
  init(_ settings: PrivacySettings) throws { texts = try TextScrubber(settings) }

  /// The report's JSON without what is not to leave.
  func scrub(_ report: CrashReport) throws -> JSONValue {
    guard case .object(var members) = try Self.json(report) else { return .null }
    let annotations = members.removeValue(forKey: "annotations")
    var scrubbed = scrub(members)
    if case .object(let annotations)? = annotations {
      scrubbed["annotations"] = .object(scrub(annotations: annotations))
    }
    return .object(scrubbed)
  }

  /// Keys are the program's own, too: none is exempt, and one may be a text of its users.
  private func scrub(annotations: [String: JSONValue]) -> [String: JSONValue] {
    Dictionary(
      annotations.sorted { $0.key < $1.key }.map { key, value in
        (texts.scrub(key), texts.isSecret(key) ? .string(TextScrubber.mark) : scrub(word: value))
      }, uniquingKeysWith: { first, _ in first })
  }

  /// The report's JSON as it is.
  static func json(_ report: CrashReport) throws -> JSONValue {
    try JSONParser<JSONValue>.parse(Array(JSONEncoder().encode(report)), depth: JSONDepth.answers)
  }

  /// Of the program's own words nothing is spared.
  private func scrub(word value: JSONValue) -> JSONValue {
    if case .string(let text) = value { return .string(texts.scrub(text)) }
    return scrub(value)
  }

  private func scrub(_ value: JSONValue) -> JSONValue {
    switch value {
    case .string(let text): TextScrubber.isAddress(text) ? value : .string(texts.scrub(text))
    case .array(let values): .array(values.map { scrub($0) })
    case .object(let members): .object(scrub(members))
    default: value
    }
  }

  private func scrub(_ members: [String: JSONValue]) -> [String: JSONValue] {
    Dictionary(
      uniqueKeysWithValues: members.map { key, value in
        if TextScrubber.isExempt(key) { return (key, value) }
        return (key, TextScrubber.isWords(key) ? scrub(word: value) : scrub(value))
      })
  }
}
