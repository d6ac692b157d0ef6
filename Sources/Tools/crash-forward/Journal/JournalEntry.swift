/// An entry in journald's native protocol.
///
/// Each field has a name and a value of any bytes.
struct JournalEntry: Sendable, Equatable {
  private(set) var fields: [(name: String, value: String)] = []

  static func == (left: JournalEntry, right: JournalEntry) -> Bool { left.bytes == right.bytes }

  /// Adds a field if the value is neither nil nor empty.
  ///
  /// journald requires that `name` consists of capital letters, digits and `_`.
  mutating func add(_ name: String, _ value: String?) {
    if let value, !value.isEmpty { fields.append((name, value)) }
  }

  mutating func add(_ name: String, _ value: Int?) { add(name, value.map { "\($0)" }) }

  /// The first value of a field.
  subscript(_ name: String) -> String? { fields.first { $0.name == name }?.value }

  /// The entry in the form that journald receives.
  ///
  /// A field without line breaks is a line `NAME=value`. Any other field is the name in a line, the length as a
  /// little-endian 64-bit number, and the value.
  var bytes: [UInt8] {
    var bytes: [UInt8] = []
    for (name, value) in fields {
      bytes += name.utf8
      let value = Array(value.utf8)
      if value.contains(UInt8(ascii: "\n")) {
        bytes.append(UInt8(ascii: "\n"))
        bytes += (0..<8).map { UInt8(truncatingIfNeeded: UInt64(value.count) >> (8 * $0)) }
      } else {
        bytes.append(UInt8(ascii: "="))
      }
      bytes += value
      bytes.append(UInt8(ascii: "\n"))
    }
    return bytes
  }
}
