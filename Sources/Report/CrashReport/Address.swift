/// An address in the crashed process.
///
/// In JSON, an address is a string such as `"0x7f12…"`, because many JSON parsers round numbers above 2⁵³.
public struct Address: RawRepresentable, Hashable, Comparable, Sendable, Codable, CustomStringConvertible,
  ExpressibleByIntegerLiteral
{
  /// The address as a number.
  public var rawValue: UInt64

  /// Creates an address from a number.
  public init(rawValue: UInt64) { self.rawValue = rawValue }

  /// Creates an address from a number.
  public init(_ value: UInt64) { rawValue = value }

  /// Creates an address from a literal.
  public init(integerLiteral value: UInt64) { rawValue = value }

  /// The address as `0x` and lower-case hexadecimal digits without leading zeros.
  public var description: String { "0x" + String(rawValue, radix: 16) }

  /// Compares the addresses as numbers.
  public static func < (left: Address, right: Address) -> Bool { left.rawValue < right.rawValue }

  /// Decodes the string form of an address.
  /// - Throws: `DecodingError.dataCorrupted` if the string is not `0x` followed by hexadecimal digits.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard text.hasPrefix("0x"), let value = UInt64(text.dropFirst(2), radix: 16) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "'\(text)' is not an address: expected 0x and hexadecimal digits")
    }
    rawValue = value
  }

  /// Encodes the string form of the address.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}
