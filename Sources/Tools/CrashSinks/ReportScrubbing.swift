import CrashClient
import CrashProtocol
public import CrashReport

/// Scrubs a report: every text in its JSON.
public struct ReportScrubbing: Sendable {
  private let scrubber: TextScrubber

  /// Scrubs by these rules.
  public init(_ scrubber: TextScrubber) { self.scrubber = scrubber }

  func scrub(_ report: JSONValue) -> JSONValue {
    guard case .object(var members) = report else { return report }
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
        (scrubber.scrub(key), scrubber.isSecret(key) ? .string(TextScrubber.mark) : scrub(word: value))
      }, uniquingKeysWith: { first, _ in first })
  }

  private func scrub(_ members: [String: JSONValue]) -> [String: JSONValue] {
    Dictionary(
      uniqueKeysWithValues: members.map { key, value in
        if TextScrubber.isExempt(key) { return (key, value) }
        return (key, TextScrubber.isWords(key) ? scrub(word: value) : scrub(each: value))
      })
  }

  private func scrub(word value: JSONValue) -> JSONValue {
    if case .string(let text) = value { return .string(scrubber.scrub(text)) }
    return scrub(each: value)
  }

  private func scrub(each value: JSONValue) -> JSONValue {
    switch value {
    case .string(let text): TextScrubber.isAddress(text) ? value : .string(scrubber.scrub(text))
    case .array(let values): .array(values.map(scrub(each:)))
    case .object(let members): .object(scrub(members))
    default: value
    }
  }
}
