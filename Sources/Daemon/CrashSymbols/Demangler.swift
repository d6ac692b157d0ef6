/// Demangles linkage names.
///
/// Names that are not from Swift or C++ are returned unchanged.
///
/// Names come from untrusted files. Names longer than 4 KiB are returned unchanged.
///
/// Demangling takes about 2 µs per name. It should be done when a report is built, not earlier. All functions may be
/// called from any thread.
public enum Demangler: Sendable {
  /// Returns the complete name, such as `shop.Cart.total(for: Swift.Int) async throws -> Swift.Int`.
  public static func full(_ mangled: String) -> String {
    let runtime = SwiftRuntimeDemangler.shared
    if isSwift(mangled) { return runtime.full(mangled) ?? mangled }
    if isCxx(mangled) { return runtime.cxx(mangled) ?? mangled }
    return mangled
  }

  /// Returns a short name for display, such as `Cart.total(for:)`.
  ///
  /// The name has no module, as in `swift demangle -simplified`, and shows whether the function is merged.
  ///
  /// The compiler splits an async function into several parts, and all parts have the name of the function.
  public static func simplified(_ mangled: String) -> String {
    if isCxx(mangled) { return full(mangled) }
    // All parts of top-level code with `await` have one name, which is not mangled.
    if mangled.hasPrefix("async_Main") { return stem(of: mangled) }
    guard isSwift(mangled) else { return mangled }
    let stem = stem(of: mangled)
    guard let simple = SwiftRuntimeDemangler.shared.simplified(stem), simple != stem else { return mangled }
    // The short name of a closure in top-level code ends with " in ", without a function.
    var name = simple.hasSuffix(" in ") ? String(simple.dropLast(4)) : simple
    if isNameless(short: name) { name = fullOfStem(stem) }
    name = withoutSendable(name)
    // A merged function stands for several functions with the same body. The runtime's short form does not show this.
    return isMerged(stem) ? "merged " + name : name
  }

  /// Removes `@Sendable` from between a function's name and its labels, where the runtime prints this part of the type.
  private static func withoutSendable(_ name: String) -> String {
    var rest = name[...]
    var shorter = ""
    while let range = rest.firstRange(of: "@Sendable (") {
      let before = rest[..<range.lowerBound]
      let isOfParameter = before.last.map { " (".contains($0) } ?? true
      shorter += before + (isOfParameter ? "@Sendable (" : "(")
      rest = rest[range.upperBound...]
    }
    return shorter + rest
  }

  /// Whether the short form contains no function name: it is only `specialized `, or the demangler cannot shorten the
  /// name.
  public static func isNameless(_ mangled: String) -> Bool {
    guard isSwift(mangled) else { return false }
    return SwiftRuntimeDemangler.shared.simplified(stem(of: mangled)).map(isNameless(short:)) ?? false
  }

  private static func isNameless(short name: String) -> Bool { name.isEmpty || name.hasSuffix("specialized ") }

  /// Returns the module of the code, or the module of the extension that contains the code; nil if the name has no
  /// module.
  public static func module(of mangled: String) -> String? {
    guard isSwift(mangled) else { return nil }
    let stem = stem(of: mangled)
    return SwiftNameModule.module(ofFull: fullOfStem(stem)) ?? leadingModule(of: stem)
  }

  /// Whether the functions of this type demangle the name instead of returning it unchanged.
  public static func isMangled(_ name: String) -> Bool { isSwift(name) || isCxx(name) }

  /// Whether the demangled name has a reasonable length.
  ///
  /// Substitutions can expand a name of 250 bytes to terabytes, and no demangler limits that. The check itself may
  /// exhaust memory or crash. It must run in a disposable process before an untrusted name is demangled elsewhere.
  public static func isReasonable(_ mangled: String) -> Bool {
    guard isSwift(mangled) || isCxx(mangled) else { return true }
    // If memory is exhausted, there is no text. Another process may have enough memory, so this does not count as too
    // long.
    if isCxx(mangled) {
      let answer: (text: String?, isTooLong: Bool) = SwiftRuntimeDemangler.shared.cxx(mangled)
      return !answer.isTooLong && (answer.text?.utf8.count ?? 0) <= textLimitBytes
    }
    // The other functions demangle only the name or its stem.
    let stem = isSwift(mangled) ? stem(of: mangled) : mangled
    return full(mangled).utf8.count <= textLimitBytes
      && (stem == mangled || fullOfStem(stem).utf8.count <= textLimitBytes)
  }

  /// Whether the function only forwards to another one, so that a reader does not need its frame.
  ///
  /// Initializers (`fC`) do not count as thunks, although the Swift runtime classifies all of them as thunks. For a
  /// convenience initializer of a class, `fC` contains the code. For a designated initializer, `fC` has no line.
  public static func isThunk(_ mangled: String) -> Bool {
    guard isSwift(mangled) else { return false }
    let stem = stem(of: mangled)
    return SwiftRuntimeDemangler.shared.simplified(stem).map(SwiftNameKind.isThunk(short:)) ?? false
  }

  /// Whether the function stands for several functions with equal bodies that swiftc has merged.
  ///
  /// The name is that of one of these functions.
  public static func isMerged(_ mangled: String) -> Bool {
    guard isSwift(mangled) else { return false }
    let stem = stem(of: mangled)
    // Merging is the last step, so the word "merged" comes first. A name from the program cannot be at that position.
    return SwiftRuntimeDemangler.shared.full(stem)?.utf8.starts(with: "merged ".utf8) ?? false
  }
}

extension Demangler {
  /// Whether the function is a copy, retain or release that the compiler has outlined (`outlined init with copy of …`).
  public static func isOutlined(_ mangled: String) -> Bool {
    isSwift(mangled) && stem(of: mangled).utf8.suffix(3).starts(with: "WO".utf8)
  }

  private static let limitBytes = 4096
  private static let textLimitBytes = 16_384

  private static func isSwift(_ name: String) -> Bool {
    name.utf8.count <= limitBytes && ["$s", "$S", "$e", "_T0"].contains { name.hasPrefix($0) }
  }

  private static func isCxx(_ name: String) -> Bool { name.hasPrefix("_Z") && name.utf8.count <= limitBytes }

  private static func fullOfStem(_ stem: String) -> String { SwiftRuntimeDemangler.shared.full(stem) ?? stem }

  /// Returns the name without the suffixes of LLVM and of the async splitter: `.17`, `.resume.0`, `TY0_`, `TQ1_`.
  static func stem(of mangled: String) -> String {
    var stem = mangled.utf8.prefix { $0 != UInt8(ascii: ".") }
    while let shorter = withoutAsyncSuffix(stem) { stem = shorter }
    return String(Substring(stem))
  }

  /// Removes a final `T[YQ][0-9]*_`, or returns nil if there is none.
  private static func withoutAsyncSuffix(_ name: Substring.UTF8View) -> Substring.UTF8View? {
    guard name.last == UInt8(ascii: "_") else { return nil }
    var rest = name.dropLast()
    while let last = rest.last, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(last) { rest = rest.dropLast() }
    let kind = rest.suffix(2)
    return kind.elementsEqual("TY".utf8) || kind.elementsEqual("TQ".utf8) ? rest.dropLast(2) : nil
  }

  /// Returns the first identifier of the mangled name (`$s4shop…`), for names whose demangled text has no module.
  private static func leadingModule(of stem: String) -> String? {
    let rest = stem.dropFirst(stem.hasPrefix("_T0") ? 3 : 2)
    let digits = rest.prefix { $0.isASCII && $0.isNumber }
    // A leading 0 means that the identifier is composed of words that occurred earlier.
    guard let count = Int(digits), !digits.hasPrefix("0"), count <= rest.count - digits.count else { return nil }
    return String(rest.dropFirst(digits.count).prefix(count))
  }
}
