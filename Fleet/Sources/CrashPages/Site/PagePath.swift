/// Builds the paths of pages.
enum PagePath {
  /// Returns a path with a query.
  ///
  /// Omits parameters that are nil or empty.
  static func path(_ path: String, _ parameters: KeyValuePairs<String, String?> = [:]) -> String {
    let pairs = parameters.compactMap { key, value in
      value.flatMap { $0.isEmpty ? nil : "\(key)=\(encode($0))" }
    }
    return pairs.isEmpty ? path : path + "?" + pairs.joined(separator: "&")
  }

  static func issue(_ key: String) -> String { "/issues/\(encode(key))" }
  static func event(_ id: String) -> String { "/events/\(encode(id))" }

  /// Encodes a string for a path or a query.
  static func encode(_ text: String) -> String {
    var encoded = ""
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        encoded.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        let digits = String(byte, radix: 16, uppercase: true)
        encoded += byte < 16 ? "%0\(digits)" : "%\(digits)"
      }
    }
    return encoded
  }

  /// Decodes a string of a path, or of a query, in which `+` is a blank.
  ///
  /// Replaces bytes that are not UTF-8.
  static func decode(_ text: some StringProtocol, isQuery: Bool = false) -> String {
    var bytes: [UInt8] = []
    var rest = Array(text.utf8)[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), rest.count >= 2,
        let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      {
        bytes.append(value)
        rest = rest.dropFirst(2)
      } else {
        bytes.append(isQuery && byte == UInt8(ascii: "+") ? UInt8(ascii: " ") : byte)
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
