/// Finds an alias in YAML before Yams composes it: a few nested ones expand to more values than any machine can handle,
/// and Yams visits all of them when such a value is a key.
enum YAMLAlias {
  /// The first `*name` after its `&name`.
  ///
  /// Quoted text and comments count, too: both with the same name are no accident, and no setting needs them.
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

  /// YAML allows more; libyaml does not.
  private static func isName(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
      true
    default: false
    }
  }
}
