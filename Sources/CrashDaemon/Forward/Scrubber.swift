import CrashReport
import FoundationEssentials

/// Takes out of a report what the privacy rules name.
///
/// It works on the report's JSON, so that a field that a later version adds is scrubbed too.
struct Scrubber {
  static let mark = "[scrubbed]"
  /// What names a crash, a build or a place in the code, and is no text that a program has made of its users' data.
  private static let exemptKeys: Set = [
    "id", "key", "exact", "coarse", "mangled", "buildID", "time", "startTime", "kind", "rule", "trust", "codeName",
  ]
  private static let textLimit = 65_536

  private let keys: [String]
  private let patterns: [TextPattern]
  private let hidesUsers: Bool

  /// - Throws: For a pattern that is not understood; settings are checked for that before.
  init(_ settings: PrivacySettings) throws {
    keys = settings.annotations.map { $0.lowercased() }
    patterns = try settings.patterns.map { try TextPattern($0) }
    hidesUsers = settings.homeDirectories
  }

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
        (scrub(key), isSecret(key) ? .string(Self.mark) : scrub(value))
      }, uniquingKeysWith: { first, _ in first })
  }

  /// The report's JSON as it is.
  static func json(_ report: CrashReport) throws -> JSONValue {
    try JSONDecoder().decode(JSONValue.self, from: JSONEncoder().encode(report))
  }

  private func isSecret(_ key: String) -> Bool {
    let key = key.lowercased()
    return keys.contains { key.contains($0) }
  }

  private func scrub(_ value: JSONValue) -> JSONValue {
    switch value {
    case .string(let text): .string(scrub(text))
    case .array(let values): .array(values.map(scrub))
    case .object(let members): .object(scrub(members))
    default: value
    }
  }

  private func scrub(_ members: [String: JSONValue]) -> [String: JSONValue] {
    Dictionary(
      uniqueKeysWithValues: members.map { key, value in
        (key, Self.exemptKeys.contains(key) ? value : scrub(value))
      })
  }

  /// One text; what is longer than any that crashd makes is cut off, because nobody looked at the rest.
  func scrub(_ text: String) -> String {
    var bytes = Array(text.utf8.prefix(Self.textLimit))
    for pattern in patterns {
      // Whoever makes the search long gets nothing through.
      guard let ranges = pattern.ranges(in: bytes) else { return Self.mark }
      if !ranges.isEmpty { bytes = Self.marking(ranges, in: bytes) }
    }
    if hidesUsers { bytes = Self.withoutUsers(bytes) }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func marking(_ ranges: [Range<Int>], in bytes: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    var place = 0
    for range in ranges {
      result += bytes[place..<range.lowerBound]
      result += mark.utf8
      place = range.upperBound
    }
    return result + bytes[place...]
  }

  /// `/home/anna/shop` becomes `/home/[user]/shop`.
  private static func withoutUsers(_ bytes: [UInt8]) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var rest = bytes[...]
    while let byte = rest.first {
      guard byte == UInt8(ascii: "/"), let home = homes.first(where: { rest.starts(with: $0) }) else {
        result.append(byte)
        rest = rest.dropFirst()
        continue
      }
      result += home
      let name = rest.dropFirst(home.count).prefix { !ends.contains($0) }
      if !name.isEmpty { result += "[user]".utf8 }
      rest = rest[name.endIndex...]
    }
    return result
  }

  private static let homes = ["/home/", "/Users/"].map { Array($0.utf8) }
  private static let ends = Array(" /\"':,)\n".utf8)
}
