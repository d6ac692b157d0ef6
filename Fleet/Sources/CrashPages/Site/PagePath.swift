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

  /// Returns a path with a search; nil if the search is too long.
  ///
  /// A truncated search would select other events.
  static func search(_ path: String, _ query: String, sort: String? = nil) -> String? {
    query.utf8.count <= SearchParser.limit ? Self.path(path, ["q": query, "sort": sort]) : nil
  }

  static func issue(_ key: String) -> String { "/issues/\(encode(key))" }
  static func event(_ id: String) -> String { "/events/\(encode(id))" }

  /// Whether a string begins with a slash and has only characters that occur in paths of this type.
  static func isPath(_ text: String) -> Bool {
    text.utf8.first == UInt8(ascii: "/") && text.utf8.allSatisfy { isPlain($0) || "/?&=%".utf8.contains($0) }
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: "~"):
      true
    default: false
    }
  }

  /// Encodes a string for a path or a query.
  static func encode(_ text: String) -> String {
    var encoded = ""
    for byte in text.utf8 {
      if isPlain(byte) {
        encoded.unicodeScalars.append(Unicode.Scalar(byte))
      } else {
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
