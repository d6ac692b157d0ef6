/// Shortens names that `swift_demangle` has written out, where the runtime's own short form is not to be had.
enum SwiftNameTrimmer {
  /// `Cart.total(for:)` from `shop.Cart.total(for: Swift.Int) async throws -> Swift.Int`.
  static func simplified(_ full: String) -> String { String(simplified(full[...])) }

  private static func simplified(_ name: Substring) -> String {
    if let rest = afterPrefix("partial apply forwarder for ", of: name) {
      return "partial apply for " + simplified(rest)
    }
    if let rest = afterPrefix("protocol witness for ", of: name),
      let split = splits(of: rest, at: " in conformance ").last
    {
      return "protocol witness for " + simplified(split.before) + " in conformance " + type(split.after)
    }
    if let split = firstSplit(of: name, at: " in "), split.before.contains(" #") {
      let words = split.before.split(separator: " ", maxSplits: 2)
      return words.prefix(2).joined(separator: " ") + " in " + simplified(split.after)
    }
    if let split = firstSplit(of: name, at: " of ") {
      let isSpecialization = split.before.hasSuffix(">") && split.before.contains("specialization <")
      return (isSpecialization ? "specialized " : split.before + " of ") + simplified(split.after)
    }
    if let split = firstSplit(of: name, at: " for ") {
      return split.before + " for " + simplified(split.after)
    }
    for word in ["static ", "merged ", "@objc "] {
      if let rest = afterPrefix(word, of: name) { return word + simplified(rest) }
    }
    return entity(name)
  }

  /// A path with its arguments, without the module, the types and the result.
  private static func entity(_ name: Substring) -> String {
    var rest = name
    if rest.hasPrefix("(extension in "), let colon = rest.firstIndex(of: ":") { rest = rest[colon...].dropFirst() }
    if let split = firstSplit(of: rest, at: " : ") { rest = split.before }
    // The module, where there is more than that.
    guard let dot = rest.firstIndex(of: "."), rest[..<dot].allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" })
    else { return rest.contains(" ") ? String(rest) : "" }
    rest = rest[dot...].dropFirst()
    for fix in [" infix(", " prefix(", " postfix("] {
      // "(" or "<" may be the operator itself.
      if let split = firstSplit(of: rest, at: fix) { return split.before + fix + labels(split.after) + ")" }
    }
    guard let open = openingOfArguments(in: rest) else { return path(rest) }
    return path(rest[..<open]) + "(" + labels(rest[open...].dropFirst()) + ")"
  }

  /// The first "(" that is not that of a private name, `(name in _HASH)`.
  private static func openingOfArguments(in text: Substring) -> Substring.Index? {
    var depth = 0
    var previous: Character = "."
    for index in text.indices {
      let character = text[index]
      if character == "(" && depth == 0 && previous != "." { return index }
      depth += nesting(character, previous)
      previous = character
    }
    return nil
  }

  /// Private names without their file's hash, and generic parameters without their constraints.
  private static func path(_ text: Substring) -> String {
    var result = ""
    var rest = text
    while let character = rest.first {
      if character == "(", let space = rest.firstIndex(of: " "), let close = rest.firstIndex(of: ")") {
        result += rest[rest.startIndex..<space].dropFirst()
        rest = rest[close...].dropFirst()
      } else if let constraints = afterPrefix(" where ", of: rest), let close = constraints.firstIndex(of: ">") {
        rest = constraints[close...]
      } else {
        result.append(character)
        rest = rest.dropFirst()
      }
    }
    return result
  }

  private static func type(_ text: Substring) -> String {
    entity(firstSplit(of: text, at: " : ")?.before ?? text)
  }

  /// `for:_:` from `for: Swift.Int, Swift.String) -> ()`.
  private static func labels(_ arguments: Substring) -> String {
    var labels = ""
    var rest = arguments
    while let end = endOfArgument(rest), !rest.hasPrefix(")") {
      let argument = rest[..<end].drop { $0 == " " }
      let label = argument.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
      labels += (argument.dropFirst(label.count).hasPrefix(":") ? label : "_") + ":"
      if rest[end] == ")" { break }
      rest = rest[end...].dropFirst()
    }
    return labels
  }

  /// The "," or ")" that ends the first argument.
  private static func endOfArgument(_ text: Substring) -> Substring.Index? {
    var depth = 0
    var previous: Character = " "
    for index in text.indices {
      let character = text[index]
      if depth == 0 && (character == "," || character == ")") { return index }
      depth += nesting(character, previous)
      previous = character
    }
    return nil
  }

  private static func nesting(_ character: Character, _ previous: Character) -> Int {
    switch character {
    case "(", "[", "<": 1
    case ")", "]": -1
    case ">": previous == "-" ? 0 : -1
    default: 0
    }
  }
}

extension SwiftNameTrimmer {
  private struct Split {
    var before: Substring
    var after: Substring
  }

  private static func afterPrefix(_ prefix: String, of text: Substring) -> Substring? {
    text.hasPrefix(prefix) ? text.dropFirst(prefix.count) : nil
  }

  private static func firstSplit(of text: Substring, at separator: String) -> Split? {
    splits(of: text, at: separator).first
  }

  /// Every separator outside of parentheses.
  ///
  /// Angle brackets do not count: they are also names of operators.
  private static func splits(of text: Substring, at separator: String) -> [Split] {
    var splits: [Split] = []
    var depth = 0
    for index in text.indices {
      switch text[index] {
      case "(", "[": depth += 1
      case ")", "]": depth -= 1
      case " " where depth == 0:
        if let after = afterPrefix(separator, of: text[index...]) {
          splits.append(Split(before: text[..<index], after: after))
        }
      default: break
      }
    }
    return splits
  }
}
