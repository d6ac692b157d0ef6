import CrashReport

/// Removes the parts of names that differ between builds.
///
/// The code does not use regular expressions. Swift parses and compiles a regex literal each time the literal is
/// evaluated. With regular expressions, this compilation took two thirds of crashd's time for a crash with 64 frames.
enum GroupingText {
  private static let clones = [".cold", ".resume", ".llvm", ".part", ".constprop", ".isra"].map { Array($0.utf8) }
  private static let specializations = [
    "specialized ", "not re-abstracted specialized ", "generic specialized ", "function signature specialized ",
    "generic not re-abstracted specialized ", "function signature not re-abstracted specialized ", "merged ",
  ].map { Array($0.utf8) }
  private static let resumptions = [" suspend", " await"].map { Array(($0 + " resume partial function for ").utf8) }
  private static let numbered = ["closure", "local", "variable initialization expression"].map { Array($0.utf8) }
  private static let discriminator = Array(" in _".utf8)
  private static let discriminatorDigits = 32

  /// Returns a linkage name without the suffixes of the compiler.
  ///
  /// Examples are `TY0_` and `TQ1_` (parts of an async function), `.cold` and `.resume.0`.
  static func stem(_ mangled: String) -> String {
    var bytes = Array(mangled.utf8)[...]
    for index in bytes.indices where bytes[index] == UInt8(ascii: ".") {
      let isClone = clones.contains { clone in
        let rest = bytes[index...]
        return rest.starts(with: clone) && !(rest.dropFirst(clone.count).first.map(isWord) ?? false)
      }
      if isClone {
        bytes = bytes[..<index]
        break
      }
    }
    return String(decoding: withoutPart(bytes), as: UTF8.self)
  }

  /// Removes a suffix that consists of `T`, then `Y` or `Q`, digits and `_`.
  private static func withoutPart(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    guard bytes.last == UInt8(ascii: "_") else { return bytes }
    var rest = bytes.dropLast()
    while let last = rest.last, isDigit(last) { rest = rest.dropLast() }
    guard let kind = rest.last, kind == UInt8(ascii: "Y") || kind == UInt8(ascii: "Q") else { return bytes }
    rest = rest.dropLast()
    return rest.last == UInt8(ascii: "T") ? rest.dropLast() : bytes
  }

  /// Returns a demangled name without the parts that the compiler adds.
  ///
  /// The removed parts mark specializations, parts of async functions, private names, and numbers of closures.
  static func simplified(_ name: String) -> String {
    var rest = Array(name.utf8)[...]
    while let prefix = specializations.first(where: rest.starts(with:)) { rest = rest.dropFirst(prefix.count) }
    return String(decoding: withoutNumbers(withoutResumption(rest)), as: UTF8.self)
  }

  /// Removes a prefix such as `(1) suspend resume partial function for `.
  private static func withoutResumption(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    guard bytes.first == UInt8(ascii: "(") else { return bytes }
    var rest = bytes.dropFirst()
    let digits = rest.prefix(while: isDigit)
    rest = rest.dropFirst(digits.count)
    guard !digits.isEmpty, rest.first == UInt8(ascii: ")") else { return bytes }
    rest = rest.dropFirst()
    guard let prefix = resumptions.first(where: rest.starts(with:)) else { return bytes }
    return rest.dropFirst(prefix.count)
  }

  /// Removes a number such as ` #1` after `closure`, and ` in _` with 32 hexadecimal digits, which marks a private
  /// name.
  private static func withoutNumbers(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
    var kept: [UInt8] = []
    kept.reserveCapacity(bytes.count)
    var rest = bytes
    while let byte = rest.first {
      let count = byte == UInt8(ascii: " ") ? numberBytes(rest, after: kept) + discriminatorBytes(rest) : 0
      if count == 0 { kept.append(byte) }
      rest = rest.dropFirst(max(1, count))
    }
    return kept
  }

  private static func numberBytes(_ rest: ArraySlice<UInt8>, after kept: [UInt8]) -> Int {
    guard rest.dropFirst().first == UInt8(ascii: "#") else { return 0 }
    let digits = rest.dropFirst(2).prefix(while: isDigit)
    return digits.isEmpty || !numbered.contains(where: { kept.suffix($0.count).elementsEqual($0) })
      ? 0 : 2 + digits.count
  }

  private static func discriminatorBytes(_ rest: ArraySlice<UInt8>) -> Int {
    guard rest.starts(with: discriminator) else { return 0 }
    let digits = rest.dropFirst(discriminator.count).prefix(discriminatorDigits).prefix(while: isHexadecimal)
    return digits.count == discriminatorDigits ? discriminator.count + digits.count : 0
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
  private static func isHexadecimal(_ byte: UInt8) -> Bool { isDigit(byte) || (0x41...0x46).contains(byte) }
  /// Whether the byte belongs to an identifier.
  ///
  /// All bytes of non-ASCII characters belong to identifiers.
  static func isWord(_ byte: UInt8) -> Bool {
    isDigit(byte) || (0x41...0x5a).contains(byte) || (0x61...0x7a).contains(byte) || byte == UInt8(ascii: "_")
      || byte >= 0x80
  }

  private static let accessors: Set<Substring> = ["getter", "setter", "modify", "read", "didset", "willset"]

  /// Whether a function with the given simplified name takes arguments, so that its caller can violate a precondition
  /// of the function.
  ///
  /// The result is false for a deinit, for a getter of a property, and for a function without parameters.
  static func takesArguments(_ name: String) -> Bool {
    if name.hasSuffix("()") || name.hasSuffix(".deinit") || name.hasSuffix(".__deallocating_deinit") { return false }
    return !name.hasSuffix(".getter") || name.hasSuffix(".subscript.getter")
  }

  /// The type of a method with the given simplified name; nil for a global function.
  ///
  /// For example, the type of `shop.static Gate.open(_:)` is `shop.Gate`.
  static func type(of name: String) -> String? {
    // A closure belongs to the type of the function that contains it.
    let function = name.ranges(of: " in ").last.map { name[$0.upperBound...] } ?? name[...]
    var parts = function.prefix { $0 != "(" }.split(separator: ".")
    if let last = parts.last, accessors.contains(last) { parts.removeLast() }
    guard parts.count > 2 else { return nil }
    return parts.dropLast().joined(separator: ".").replacing("static ", with: "", maxReplacements: 1)
  }

  /// Whether a simplified name that includes the module belongs to a global function, or to a closure in one.
  static func isGlobal(_ name: String) -> Bool {
    // The name of a closure has its module in front of `closure in`.
    let container = name.ranges(of: " in ").last.map { name[$0.upperBound...] }
    let parts = (container ?? name[...]).prefix { $0 != "(" }.split(separator: ".")
    return parts.count <= (container == nil ? 2 : 1)
  }

  /// Whether a demangled name belongs to an extension of a type of another module, such as
  /// `(extension in shop):Swift.Array.required(at: Swift.Int) -> A`.
  static func isForeignExtension(_ full: String) -> Bool {
    let opening = "(extension in "
    guard let start = full.firstRange(of: opening) else { return false }
    let rest = full[start.upperBound...]
    let module = rest.prefix { $0 != ")" }
    guard !module.isEmpty, module.endIndex < rest.endIndex else { return false }
    return !rest.dropFirst(module.count).dropFirst(2).hasPrefix(module + ".")
  }

  private static let topLevelWords = Array("Error raised at top level: ".utf8)
  private static let errorLimitBytes = 80

  /// Returns the part of an uncaught error's message that does not depend on associated values: the error's type and
  /// case; nil for other messages.
  ///
  /// The message `Fatal error: Error raised at top level: shop.CartError.empty(id: 7): file …` results in
  /// `shop.CartError.empty`. If the error's type defines its own description, the result is the description without
  /// numbers and quotations.
  static func topLevelError(_ message: String) -> String? {
    let bytes = Array(message.utf8)
    guard let start = bytes.firstRange(of: topLevelWords)?.upperBound else { return nil }
    var core: [UInt8] = []
    var quotation: UInt8?
    for byte in bytes[start...].prefix(while: { $0 != UInt8(ascii: "\n") }) {
      if core.count == errorLimitBytes { break }
      if let open = quotation {
        if byte == open { quotation = nil }
        continue
      }
      switch byte {
      case UInt8(ascii: "("), UInt8(ascii: "{"): return text(core)
      case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"): quotation = byte
      case _ where isDigit(byte) && !(core.last.map(isWord) ?? false): break
      default: core.append(byte)
      }
    }
    return text(core)
  }

  private static func text(_ core: [UInt8]) -> String {
    CleanText.line(String(decoding: core, as: UTF8.self)).split(separator: " ").joined(separator: " ")
  }
}
