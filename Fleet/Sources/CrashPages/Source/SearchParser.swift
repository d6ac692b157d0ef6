internal import CrashProtocol
internal import CrashReport

/// Parses the text of the search box, such as `program:shop is:new since:24h index`.
///
/// A value with blanks is in quotation marks, as in `route:"GET /cart"`. A word without a key is a part of the title.
struct SearchParser {
  /// The maximum length of the text in bytes, which `Page` checks.
  static let limit = 512

  /// The terms that the source supports.
  var terms: [SearchTerm]
  /// The states that issues may have.
  var states: [String]
  /// The current time, to which relative times refer, in nanoseconds since 1970.
  var now_ns: UInt64

  /// Parses the text.
  /// - Throws: `invalidSearch` if a term is unknown, is invalid, or is not supported by the source.
  func parse(_ text: String) throws(SourceError) -> Search {
    var search = Search()
    var words: [String] = []
    for word in Self.words(of: text) {
      guard let colon = word.unquotedColon, let key = SearchTerm(key: String(word.text[..<colon])) else {
        words.append(word.text)
        continue
      }
      guard terms.contains(key) else { throw .invalidSearch("'\(key.rawValue)' cannot be searched here") }
      let value = String(word.text[word.text.index(after: colon)...])
      guard !value.isEmpty else { throw .invalidSearch("'\(key.rawValue):' needs a value") }
      try set(key, value, in: &search)
    }
    if !words.isEmpty {
      guard terms.contains(.text) else { throw .invalidSearch("titles cannot be searched here") }
      search.text = words.joined(separator: " ")
    }
    return search
  }

  private func set(_ key: SearchTerm, _ value: String, in search: inout Search) throws(SourceError) {
    switch key {
    case .program: search.filter.name = value
    case .build: search.build = value
    case .release: search.filter.release = value
    case .environment: search.filter.environment = value
    case .host: search.host = value
    case .pod: search.filter.tags = (search.filter.tags ?? []) + ["k8s.pod.name=\(value)"]
    case .unit: search.filter.unit = value
    case .executable: search.filter.executable = value
    case .signal:
      let name = value.uppercased()
      search.filter.signal = name.hasPrefix("SIG") ? name : "SIG" + name
    case .cause: search.cause = value
    case .class: search.className = value
    case .route: search.filter.route = value
    case .trace: search.filter.traceID = value.lowercased()
    case .state:
      guard states.contains(value) else {
        throw .invalidSearch("no state '\(value)'; the states are \(states.joined(separator: ", "))")
      }
      search.states = (search.states ?? []) + [value]
    case .tag:
      guard let mark = value.firstIndex(of: "="), mark != value.startIndex, value.index(after: mark) != value.endIndex
      else { throw .invalidSearch("invalid tag '\(value)'; example: tag:zone=eu-1") }
      search.filter.tags = (search.filter.tags ?? []) + [value]
    case .group: search.filter.group = value
    case .pid:
      guard let pid = Int(value), pid > 0 else { throw .invalidSearch("invalid pid '\(value)'") }
      search.filter.pid = pid
    case .since: search.filter.since = try time(value)
    case .until: search.filter.until = try time(value)
    case .text: break
    }
  }

  /// Returns a time as RFC 3339; the text is such a time, a date, or an age such as `24h`.
  private func time(_ text: String) throws(SourceError) -> String {
    if let time = Timestamp.nanoseconds(rfc3339: text) { return Timestamp.string(since1970_ns: time) }
    if let time = Timestamp.nanoseconds(rfc3339: text + "T00:00:00Z") { return Timestamp.string(since1970_ns: time) }
    let units: [Character: UInt64] = ["m": 60, "h": 3_600, "d": 86_400, "w": 604_800]
    let number = text.drop { $0 == "-" }.dropLast()
    guard let unit = text.last.flatMap({ units[$0] }), let count = UInt64(number), count <= 100_000 else {
      throw .invalidSearch("invalid time '\(text)'; examples: 24h, 14d, 2026-11-22, 2026-11-22T14:00:00Z")
    }
    // Compute in seconds, because a long age overflows in nanoseconds.
    let age_s = count * unit
    return Timestamp.string(since1970_ns: now_ns / 1_000_000_000 > age_s ? now_ns - age_s * 1_000_000_000 : 0)
  }

  /// A word of the text, without its quotation marks.
  struct Word {
    var text = ""
    /// The first colon outside quotation marks.
    var unquotedColon: String.Index?
  }

  /// Splits the text at blanks outside quotation marks.
  static func words(of text: String) -> [Word] {
    var (words, word): ([Word], Word?) = ([], nil)
    var isQuoted = false
    for character in text {
      if character == "\"" {
        isQuoted.toggle()
        word = word ?? Word()
      } else if character.isWhitespace, !isQuoted {
        if let done = word { words.append(done) }
        word = nil
      } else {
        var longer = word ?? Word()
        let end = longer.text.endIndex
        longer.text.append(character)
        if character == ":", !isQuoted, longer.unquotedColon == nil, !longer.text.isEmpty { longer.unquotedColon = end }
        word = longer
      }
    }
    if let done = word { words.append(done) }
    return words.filter { !$0.text.isEmpty }
  }

  /// Returns a term as text, with quotation marks if the value needs them; nil for an empty value, which no search has.
  static func term(_ key: SearchTerm, _ value: String) -> String? {
    let value = value.filter { $0 != "\"" }
    return value.isEmpty ? nil : "\(key.rawValue):" + (value.contains(where: \.isWhitespace) ? "\"\(value)\"" : value)
  }
}
