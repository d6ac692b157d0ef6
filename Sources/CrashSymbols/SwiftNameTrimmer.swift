/// Shortens names that `swift_demangle` has written out, where the runtime's own short form is not to be had.
///
/// The texts come from files of strangers. Hence the work has a bound: a text above 2 KiB stays as it is, what stands
/// within more than 32 others too, and all looks go over bytes (all that matters here is ASCII).
enum SwiftNameTrimmer {
  /// Longer ones nobody reads.
  static let limitBytes = 2_048
  /// How many closures, thunks and specialisations may stand around a name.
  static let depthLimit = 32

  /// `Cart.total(for:)` from `shop.Cart.total(for: Swift.Int) async throws -> Swift.Int`.
  static func simplified(_ full: String) -> String {
    full.utf8.count > limitBytes ? full : simplified(full[...], depthLimit)
  }

  private static func simplified(_ name: Substring, _ depth: Int) -> String {
    guard depth > 0 else { return String(name) }
    if let rest = afterPrefix("partial apply forwarder for ", of: name) {
      return "partial apply for " + simplified(rest, depth - 1)
    }
    if let rest = afterPrefix("protocol witness for ", of: name),
      let split = split(rest, at: " in conformance ", isLast: true)
    {
      return "protocol witness for " + simplified(split.before, depth - 1) + " in conformance " + type(split.after)
    }
    if let split = split(name, at: " in "), split.before.contains(" #") {
      let words = split.before.split(separator: " ", maxSplits: 2)
      return words.prefix(2).joined(separator: " ") + " in " + simplified(split.after, depth - 1)
    }
    if let split = split(name, at: " of ") {
      let isSpecialization = split.before.hasSuffix(">") && split.before.contains("specialization <")
      return (isSpecialization ? "specialized " : split.before + " of ") + simplified(split.after, depth - 1)
    }
    if let split = split(name, at: " for ") {
      return split.before + " for " + simplified(split.after, depth - 1)
    }
    for word in ["static ", "merged ", "@objc "] {
      if let rest = afterPrefix(word, of: name) { return word + simplified(rest, depth - 1) }
    }
    return entity(name)
  }

  /// A path with its arguments, without the module, the types and the result.
  private static func entity(_ name: Substring) -> String {
    var rest = name
    if rest.hasPrefix("(extension in "), let colon = rest.utf8.firstIndex(of: UInt8(ascii: ":")) {
      rest = rest[colon...].dropFirst()
    }
    if let split = split(rest, at: " : ") { rest = split.before }
    // The module, where there is more than that.
    guard let dot = rest.utf8.firstIndex(of: UInt8(ascii: ".")), rest[..<dot].utf8.allSatisfy(isIdentifier)
    else { return rest.contains(" ") ? String(rest) : "" }
    rest = rest[dot...].dropFirst()
    for fix in [" infix(", " prefix(", " postfix("] {
      // "(" or "<" may be the operator itself.
      if let split = split(rest, at: fix) { return split.before + fix + labels(split.after) + ")" }
    }
    guard let open = openingOfArguments(in: rest) else { return path(rest) }
    return path(rest[..<open]) + "(" + labels(rest[open...].dropFirst()) + ")"
  }

  /// The first "(" that is not that of a private name, `(name in _HASH)`.
  private static func openingOfArguments(in text: Substring) -> Substring.Index? {
    var depth = 0
    var previous = UInt8(ascii: ".")
    for index in text.utf8.indices {
      let byte = text.utf8[index]
      if byte == UInt8(ascii: "(") && depth == 0 && previous != UInt8(ascii: ".") { return index }
      depth += nesting(byte, previous)
      previous = byte
    }
    return nil
  }

  /// Private names without their file's hash, and generic parameters without their constraints.
  private static func path(_ text: Substring) -> String {
    var result: [UInt8] = []
    var rest = text.utf8
    while let byte = rest.first {
      if byte == UInt8(ascii: "("), let space = rest.firstIndex(of: UInt8(ascii: " ")),
        let close = rest.firstIndex(of: UInt8(ascii: ")"))
      {
        result += rest[rest.startIndex..<min(space, close)].dropFirst()
        rest = rest[close...].dropFirst()
      } else if rest.starts(with: " where ".utf8), let close = rest.firstIndex(of: UInt8(ascii: ">")) {
        rest = rest[close...]
      } else {
        result.append(byte)
        rest = rest.dropFirst()
      }
    }
    return String(decoding: result, as: UTF8.self)
  }

  private static func type(_ text: Substring) -> String {
    entity(split(text, at: " : ")?.before ?? text)
  }

  /// `for:_:` from `for: Swift.Int, Swift.String) -> ()`.
  private static func labels(_ arguments: Substring) -> String {
    var labels = ""
    var rest = arguments
    while let end = endOfArgument(rest), !rest.hasPrefix(")") {
      let argument = rest[..<end].utf8.drop { $0 == UInt8(ascii: " ") }
      let label = argument.prefix(while: isIdentifier)
      let hasLabel = argument[label.endIndex...].first == UInt8(ascii: ":")
      labels += (hasLabel ? String(Substring(label)) : "_") + ":"
      if rest.utf8[end] == UInt8(ascii: ")") { break }
      rest = rest[end...].dropFirst()
    }
    return labels
  }

  /// The "," or ")" that ends the first argument.
  private static func endOfArgument(_ text: Substring) -> Substring.Index? {
    var depth = 0
    var previous = UInt8(ascii: " ")
    for index in text.utf8.indices {
      let byte = text.utf8[index]
      if depth == 0 && (byte == UInt8(ascii: ",") || byte == UInt8(ascii: ")")) { return index }
      depth += nesting(byte, previous)
      previous = byte
    }
    return nil
  }

  private static func nesting(_ byte: UInt8, _ previous: UInt8) -> Int {
    switch byte {
    case UInt8(ascii: "("), UInt8(ascii: "["), UInt8(ascii: "<"): 1
    case UInt8(ascii: ")"), UInt8(ascii: "]"): -1
    case UInt8(ascii: ">"): previous == UInt8(ascii: "-") ? 0 : -1
    default: 0
    }
  }

  /// Letters beyond ASCII too.
  private static func isIdentifier(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), 0x80...:
      true
    default: false
    }
  }
}

extension SwiftNameTrimmer {
  private struct Split {
    var before: Substring
    var after: Substring
  }

  private static func afterPrefix(_ prefix: String, of text: Substring) -> Substring? {
    guard text.utf8.starts(with: prefix.utf8) else { return nil }
    return Substring(text.utf8.dropFirst(prefix.utf8.count))
  }

  /// At the first separator, or the last one, outside of parentheses.
  ///
  /// Angle brackets do not count: they are also names of operators.
  private static func split(_ text: Substring, at separator: String, isLast: Bool = false) -> Split? {
    var found: Split?
    var depth = 0
    for index in text.utf8.indices {
      switch text.utf8[index] {
      case UInt8(ascii: "("), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: ")"), UInt8(ascii: "]"): depth -= 1
      case UInt8(ascii: " ") where depth == 0:
        if let after = afterPrefix(separator, of: text[index...]) {
          found = Split(before: text[..<index], after: after)
          if !isLast { return found }
        }
      default: break
      }
    }
    return found
  }
}
