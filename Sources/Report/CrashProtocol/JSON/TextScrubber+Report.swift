package import CrashReport

/// Scrubs reports as JSON, so that fields of later versions are scrubbed too.
extension TextScrubber {
  /// Applies the privacy rules to the JSON of a report.
  package func scrub(report: JSONValue) -> JSONValue {
    guard case .object(var members) = report else { return scrub(each: report) }
    let annotations = members.removeValue(forKey: "annotations")
    var scrubbed = scrub(members)
    // crashd copies the fields `release`, `environment` and `user` from annotations, so the strict rules for
    // annotations apply to these fields as well.
    for key in CrashReport.WellKnown.allCases.map(\.rawValue) {
      if let value = members[key], value != .null { scrubbed[key] = scrub(annotation: value, of: key) }
    }
    if case .object(let annotations)? = annotations {
      scrubbed["annotations"] = .object(scrub(annotations: annotations))
    }
    return .object(scrubbed)
  }

  /// Scrubs the values of annotations.
  ///
  /// The program chooses the keys of annotations, so any value can be user data. Therefore no key exempts its value
  /// from scrubbing.
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
        if key == "request", case .object(let request) = value { return (key, .object(scrub(request: request))) }
        if key == "container", case .object(let members) = value { return (key, .object(scrub(container: members))) }
        if key == "inFlight", case .object(let inFlight) = value { return (key, .object(scrub(inFlight: inFlight))) }
        // The program also chooses the keys in the metadata of a breadcrumb, so no key exempts its value from
        // scrubbing.
        if key == "metadata", case .object(let metadata) = value { return (key, .object(scrub(annotations: metadata))) }
        if key == "commandLine", case .string(let line) = value {
          return keepsCommandLine ? (key, .string(scrub(commandLine: line))) : nil
        }
        return (key, Self.isWords(key) ? scrub(word: value) : scrub(each: value))
      })
  }

  /// Scrubs a request.
  ///
  /// The program chooses the operation, the ID, and the keys and values of the tags. Trace and span IDs are not
  /// scrubbed, because they consist of hexadecimal digits, and other systems find the request by them.
  private func scrub(request: [String: JSONValue]) -> [String: JSONValue] {
    var scrubbed = scrub(request)
    for key in ["operation", "id"] {
      if let value = request[key], value != .null { scrubbed[key] = scrub(annotation: value, of: key) }
    }
    for key in ["traceID", "spanID"] { scrubbed[key] = request[key] }
    if case .object(let tags)? = request["tags"] { scrubbed["tags"] = .object(scrub(annotations: tags)) }
    return scrubbed
  }

  /// Scrubs the facts about a container.
  ///
  /// The names among these facts are annotations of the program, so the rules for annotations apply to the names.
  private func scrub(container: [String: JSONValue]) -> [String: JSONValue] {
    var scrubbed = scrub(container)
    for (key, name, _) in CrashReport.Container.annotations {
      if let value = container[name], value != .null { scrubbed[name] = scrub(annotation: value, of: key) }
    }
    return scrubbed
  }

  private func scrub(inFlight: [String: JSONValue]) -> [String: JSONValue] {
    var scrubbed = scrub(inFlight)
    if case .array(let requests)? = inFlight["requests"] {
      scrubbed["requests"] = .array(
        requests.map { request in
          if case .object(let members) = request { .object(scrub(request: members)) } else { scrub(each: request) }
        })
    }
    return scrubbed
  }

  /// Scrubs an annotation, a message, a name or a sentence.
  ///
  /// Inside such a text, a hexadecimal address is scrubbed like any other string.
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
