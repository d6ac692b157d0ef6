import CrashProtocol
internal import FoundationEssentials

extension JSONValue {
  /// Encodes the value as JSON in one line, with sorted keys.
  func encoded() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(self))
  }

  /// Parses the response of a server.
  ///
  /// Returns nil if the response is not JSON.
  static func decoded(_ bytes: [UInt8]) -> JSONValue? {
    // The reason why a response is invalid does not matter, because the caller handles an invalid response like a
    // missing one.
    JSONValue(parsing: bytes)
  }

  /// Creates a JSON object of the members that are not nil.
  static func object(known members: [String: JSONValue?]) -> JSONValue { .object(members.compactMapValues { $0 }) }

  /// Creates a JSON string.
  ///
  /// Returns nil for nil and for an empty string.
  static func text(_ text: String?) -> JSONValue? { text.flatMap { $0.isEmpty ? nil : .string($0) } }

  static func number(_ number: Int?) -> JSONValue? { number.map { .int($0) } }
}
