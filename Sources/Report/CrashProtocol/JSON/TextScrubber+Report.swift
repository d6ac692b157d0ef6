package import CrashReport

/// Scrubs the JSON of reports, so that fields of later versions are scrubbed too.
extension TextScrubber {
  /// Scrubs the JSON of a report by the privacy rules.
  package func scrub(report: JSONValue) -> JSONValue {
    guard case .object(var members) = report else { return scrub(each: report) }
    let annotations = members.removeValue(forKey: "annotations")
    var scrubbed = scrub(members)
    // The values of these fields come from annotations, and are scrubbed by the same strict rules.
    for key in CrashReport.WellKnown.allCases.map(\.rawValue) {
      if let value = members[key], value != .null { scrubbed[key] = scrub(annotation: value, of: key) }
    }
    if case .object(let annotations)? = annotations {
      scrubbed["annotations"] = .object(scrub(annotations: annotations))
    }
    return .object(scrubbed)
  }

  /// Scrubs annotations.
  ///
  /// The program also chooses the keys, so no key is exempt: it may contain user data.
  private func scrub(annotations: [String: JSONValue]) -> [String: JSONValue] {
    Dictionary(
      annotations.sorted { $0.key < $1.key }.map { key, value in
        (scrub(key), scrub(annotation: value, of: key))
      }, uniquingKeysWith: { first, _ in first })
  }

  private func scrub(annotation value: JSONValue, of key: String) -> JSONValue {
    isSecret(key) ? .string(Self.mark) : scrub(word: value)
  }

  private func scrub(_ members: [String: JSONValue]) -> [String: JSONValue] {
    Dictionary(
      uniqueKeysWithValues: members.compactMap { key, value in
        if Self.isExempt(key) { return (key, value) }
        // The metadata of a breadcrumb also has keys that the program chooses.
        if key == "metadata", case .object(let metadata) = value { return (key, .object(scrub(annotations: metadata))) }
        if key == "commandLine", case .string(let line) = value {
          return keepsCommandLine ? (key, .string(scrub(commandLine: line))) : nil
        }
        return (key, Self.isWords(key) ? scrub(word: value) : scrub(each: value))
      })
  }

  /// Scrubs a value of an annotation or a breadcrumb.
  ///
  /// In these values, hexadecimal addresses are not exempt.
  private func scrub(word value: JSONValue) -> JSONValue {
    if case .string(let text) = value { return .string(scrub(text)) }
    return scrub(each: value)
  }

  private func scrub(each value: JSONValue) -> JSONValue {
    switch value {
    case .string(let text): Self.isAddress(text) ? value : .string(scrub(text))
    case .array(let values): .array(values.map(scrub(each:)))
    case .object(let members): .object(scrub(members))
    default: value
    }
  }
}
