/// Finds an alias in YAML before Yams composes the document.
///
/// A few nested aliases can expand to more values than any machine can process. Yams visits all of these values if a
/// key contains an alias.
enum YAMLAlias {
  /// Returns the first alias `*name` that follows its anchor `&name`.
  ///
  /// Quoted strings and comments are searched as well. A false alias in them is unlikely, because quoted strings and
  /// comments hardly ever contain both `&name` and `*name`.
  static func first(in text: String) -> (name: String, line: Int)? {
    var anchors: Set<String> = []
    var line = 1
    var rest = text.utf8[...]
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "\n") { line += 1 }
      guard byte == UInt8(ascii: "&") || byte == UInt8(ascii: "*") else { continue }
      let name = String(decoding: rest.prefix(while: isName), as: UTF8.self)
      if byte == UInt8(ascii: "&") {
        anchors.insert(name)
      } else if !name.isEmpty && anchors.contains(name) {
        return (name, line)
      }
    }
    return nil
  }

  /// Returns whether libyaml allows the byte in a name.
  ///
  /// libyaml accepts only a part of the characters that YAML allows in names.
  private static func isName(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }
}
