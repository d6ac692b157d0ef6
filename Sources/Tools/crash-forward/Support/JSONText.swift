import CrashProtocol
internal import FoundationEssentials

extension JSONValue {
  /// As JSON in one line, keys in order.
  func encoded() throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Array(try encoder.encode(self))
  }

  /// Reads what a server answers; nil when it is no JSON.
  static func decoded(_ bytes: [UInt8]) -> JSONValue? {
    // The error of an invalid answer does not matter: it counts as no answer.
    JSONValue(parsing: bytes)
  }

  /// An object of the members that there are.
  static func object(known members: [String: JSONValue?]) -> JSONValue { .object(members.compactMapValues { $0 }) }

  /// A text; nil for none and for an empty one.
  static func text(_ text: String?) -> JSONValue? { text.flatMap { $0.isEmpty ? nil : .string($0) } }

  static func number(_ number: Int?) -> JSONValue? { number.map { .int($0) } }
}
