/// Parses and formats the values of settings.
///
/// Values that no real machine reaches are invalid, to prevent overflows in later sums and products.
public enum SettingText: Sendable {
  private static let longestAge_s = 1_000 * 365 * 86_400
  private static let mostBytes = 1 << 50
  private static let highestCount = 1_000_000

  private static let ages: [(Character, Int)] = [("s", 1), ("m", 60), ("h", 3_600), ("d", 86_400), ("w", 604_800)]
  private static let sizes: [(String, Int)] = [
    ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40), ("K", 1 << 10), ("M", 1 << 20),
    ("G", 1 << 30), ("T", 1 << 40), ("", 1),
  ]

  /// Parses an age, and returns its seconds.
  public static func age(_ text: String) -> Int? {
    guard let (_, factor) = ages.first(where: { $0.0 == text.last }) else { return nil }
    return product(text.dropLast(), factor, upTo: longestAge_s)
  }

  /// Parses a size, and returns its bytes.
  public static func bytes(_ text: String) -> Int? {
    guard let (unit, factor) = sizes.first(where: { text.hasSuffix($0.0) }) else { return nil }
    return product(text.dropLast(unit.count), factor, upTo: mostBytes)
  }

  /// Parses a whole number that is not negative.
  public static func count(_ text: String) -> Int? { product(text[...], 1, upTo: highestCount) }

  /// Parses `true` or `false`, or their synonyms of YAML.
  public static func flag(_ text: String) -> Bool? {
    switch text {
    case "true", "yes", "on": true
    case "false", "no", "off": false
    default: nil
    }
  }

  private static func product(_ digits: Substring, _ factor: Int, upTo limit: Int) -> Int? {
    let digits = digits.last == " " ? digits.dropLast() : digits
    guard !digits.isEmpty, digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }),
      let count = Int(digits)
    else { return nil }
    let (value, isTooLarge) = count.multipliedReportingOverflow(by: factor)
    return isTooLarge || value > limit ? nil : value
  }

  /// Returns whether the text is an absolute path.
  @Sendable public static func isPath(_ text: String) -> Bool { text.hasPrefix("/") && !text.contains("\0") }

  /// Splits a string at separators, and removes blanks at both ends of each part.
  static func parts(of text: String, between separator: Character) -> [String] {
    text.split(separator: separator).map { part in
      String(part.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
  }

  /// Quotes a string for YAML.
  ///
  /// The string can contain any character.
  public static func quoted(_ text: String) -> String { "'\(text.replacing("'", with: "''"))'" }

  /// Formats an age in the largest unit that divides it.
  public static func text(age seconds: Int) -> String {
    let unit = ages.dropLast().last { seconds >= $0.1 && seconds % $0.1 == 0 } ?? ages[0]
    return "\(seconds / unit.1)\(unit.0)"
  }

  /// Formats a size in the largest unit that divides it.
  public static func text(bytes: Int) -> String {
    let unit = sizes.prefix(4).last { bytes >= $0.1 && bytes % $0.1 == 0 }
    return unit.map { "\(bytes / $0.1)\($0.0)" } ?? "\(bytes)"
  }
}
