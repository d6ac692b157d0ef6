/// Finds the module in a full name that `swift_demangle` returned.
///
/// The full name is needed, because the runtime's short name does not contain the module. The code works on bytes,
/// because it runs for every frame of every report. Code that works on Swift's characters would take ten times as long.
enum SwiftNameModule {
  /// Returns the module in a full name; nil if the name has no module.
  static func module(ofFull name: String) -> String? {
    let (entity, isBare) = lastEntity(of: Array(Array(name.utf8).dropFirst(specializationBytes(name))))
    // Do not search the name of a reabstraction thunk, because it contains only types and no function with a module.
    if entity.starts(with: "reabstraction thunk".utf8) { return nil }
    let extensionStart = "(extension in ".utf8
    if entity.starts(with: extensionStart) {
      return text(entity.dropFirst(extensionStart.count).prefix { $0 != UInt8(ascii: ")") })
    }
    guard let dot = entity.firstIndex(of: UInt8(ascii: ".")) else { return isBare ? text(entity) : nil }
    // Skip other words before the module, for example `static` in `static shop.Cart.total()`.
    let start = entity[..<dot].lastIndex { !isIdentifier($0) }.map { $0 + 1 } ?? entity.startIndex
    return text(entity[start..<dot])
  }

  /// Returns the number of bytes that the description of a specialization takes at the beginning of a name.
  ///
  /// The description ends with the last `> of `. The end cannot be found by counting brackets, because the brackets do
  /// not match. For example: `[Closure Propagated : f, Argument Types : [[Swift.Int]]>`. The string `> of ` does not
  /// occur after the description of a specialization.
  private static func specializationBytes(_ name: String) -> Int {
    guard name.contains("specialization <") else { return 0 }
    let bytes = Array(name.utf8)
    let end = Array("> of ".utf8)
    let last = bytes.indices.last { bytes[$0] == end[0] && bytes[$0...].starts(with: end) }
    return last.map { $0 + end.count } ?? 0
  }

  /// Returns the name of the function or type (entity) to which a closure, a specialization or a protocol witness
  /// belongs.
  ///
  /// The entity follows the last " in ", " of " or " for " outside of parentheses.
  ///
  /// `isBare` states whether the result follows " in ". Only such a result can be the name of a module alone.
  private static func lastEntity(of bytes: [UInt8]) -> (entity: ArraySlice<UInt8>, isBare: Bool) {
    var start = 0
    var isBare = false
    var depth = 0
    for (index, byte) in bytes.enumerated() {
      switch byte {
      case UInt8(ascii: "("), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: ")"), UInt8(ascii: "]"): depth -= 1
      case UInt8(ascii: " ") where depth == 0:
        let rest = bytes[(index + 1)...]
        if rest.starts(with: "in ".utf8) || rest.starts(with: "of ".utf8) {
          start = index + 4
          isBare = rest.first == UInt8(ascii: "i")
        } else if rest.starts(with: "for ".utf8) {
          start = index + 5
          isBare = false
        }
      default: break
      }
    }
    return (bytes[start...], isBare)
  }

  private static func isIdentifier(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...:
      true
    default: false
    }
  }

  private static func text(_ bytes: ArraySlice<UInt8>) -> String? {
    bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }
}
