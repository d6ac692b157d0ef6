/// Scrubs strings according to the privacy rules.
///
/// This type scrubs single strings, and classifies the keys of a report. An extension in CrashProtocol applies the
/// scrubber to the JSON of a whole report.
public struct TextScrubber: Sendable {
  /// The replacement for scrubbed parts of a string.
  public static let mark = "[scrubbed]"
  /// The keys whose values identify a crash, a build or a code location.
  ///
  /// The values of these keys never contain user data.
  private static let exemptKeys: Set = [
    "id", "key", "exact", "coarse", "mangled", "buildID", "time", "startTime", "kind", "rule", "trust", "codeName",
  ]
  private static let textLimit = 65_536

  private let keys: [String]
  private let patterns: [TextPattern]
  private let hidesUsers: Bool
  /// Whether reports keep the command line of their process.
  public let keepsCommandLine: Bool

  /// Creates a scrubber.
  /// - Throws: `PatternProblem` if a pattern in the rules is invalid.
  public init(_ rules: PrivacySettings) throws(PatternProblem) {
    keys = rules.annotations.map { $0.lowercased() }
    var patterns: [TextPattern] = []
    for text in rules.patterns { patterns.append(try TextPattern(text)) }
    self.patterns = patterns
    (hidesUsers, keepsCommandLine) = (rules.homeDirectories, rules.commandLine)
  }

  /// Returns whether a pattern is valid.
  public static func understands(_ pattern: String) -> Bool {
    do throws(PatternProblem) { _ = try TextPattern(pattern) } catch { return false }
    return true
  }

  /// Returns whether an annotation with this key is secret.
  public func isSecret(_ key: String) -> Bool {
    let key = key.lowercased()
    return keys.contains { key.contains($0) }
  }

  /// Returns whether the values of this key in a report are never scrubbed.
  public static func isExempt(_ key: String) -> Bool { exemptKeys.contains(key) }

  /// Returns whether the values of this key in a report are messages, names or sentences.
  ///
  /// Inside such a text, a hexadecimal address is scrubbed like any other string.
  public static func isWords(_ key: String) -> Bool { wordKeys.contains(key) }

  private static let wordKeys: Set = ["text", "reason", "name", "sentence"]

  /// Returns whether a string is the value of a register or another address in the report.
  ///
  /// Addresses are exempt, because a pattern that matches digits would otherwise make the report unreadable.
  public static func isAddress(_ text: String) -> Bool {
    let digits = text.utf8.dropFirst(2)
    return text.hasPrefix("0x") && (1...16).contains(digits.count)
      && digits.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"): true
        default: false
        }
      }
  }

  /// Scrubs one string.
  ///
  /// A string that is longer than any string in crashd's reports is truncated, because the bytes after this length
  /// would not be searched.
  public func scrub(_ text: String) -> String {
    var bytes = Array(text.utf8.prefix(Self.textLimit))
    for pattern in patterns {
      // If the search would take too long, the whole string is replaced.
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

  /// Replaces user names in paths: `/home/anna/shop` becomes `/home/[user]/shop`.
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
