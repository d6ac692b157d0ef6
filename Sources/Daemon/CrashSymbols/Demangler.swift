/// Demangles linkage names.
///
/// Names that are neither from Swift nor from C++ are returned unchanged.
///
/// The names come from untrusted files. Names longer than 4 KiB are returned unchanged.
///
/// Demangling takes about 2 µs per name. Names should therefore be demangled when a report is built, and not earlier.
/// All functions may be called from any thread.
public enum Demangler: Sendable {
  /// Returns the complete name, such as `shop.Cart.total(for: Swift.Int) async throws -> Swift.Int`.
  public static func full(_ mangled: String) -> String {
    let runtime = SwiftRuntimeDemangler.shared
    if isSwift(mangled) { return runtime.full(mangled) ?? mangled }
    if isCxx(mangled) { return runtime.cxx(mangled) ?? mangled }
    return mangled
  }

  /// Returns the short name for display, such as `Cart.total(for:)`.
  ///
  /// The name has no module, as with `swift demangle -simplified`. It also states whether the function is merged.
  ///
  /// The compiler splits an async function into several parts. All parts are shown with the name of the function.
  public static func simplified(_ mangled: String) -> String {
    if isCxx(mangled) { return full(mangled) }
    // All parts of top-level code with `await` have a common name that is not mangled.
    if mangled.hasPrefix("async_Main") { return stem(of: mangled) }
    guard isSwift(mangled) else { return mangled }
    let stem = stem(of: mangled)
    guard let simple = SwiftRuntimeDemangler.shared.simplified(stem), simple != stem else { return mangled }
    // The runtime's short name of a closure in top-level code ends with " in ", because there is no enclosing function.
    var name = simple.hasSuffix(" in ") ? String(simple.dropLast(4)) : simple
    if isNameless(short: name) { name = fullOfStem(stem) }
    name = withoutSendable(name)
    // A merged function is used for several functions with equal bodies. The runtime's short name does not state this.
    return isMerged(stem) ? "merged " + name : name
  }

  /// Removes `@Sendable` between a function's name and its labels, where the runtime prints this part of the type.
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

  /// Whether the short name contains no function name.
  ///
  /// Either it is only `specialized `, or the demangler cannot shorten the name.
  public static func isNameless(_ mangled: String) -> Bool {
    guard isSwift(mangled) else { return false }
    return SwiftRuntimeDemangler.shared.simplified(stem(of: mangled)).map(isNameless(short:)) ?? false
  }

  private static func isNameless(short name: String) -> Bool { name.isEmpty || name.hasSuffix("specialized ") }

  /// Returns the module that contains the code.
  ///
  /// For code in an extension, this is the module of the extension. Returns nil if the name has no module.
  public static func module(of mangled: String) -> String? {
    guard isSwift(mangled) else { return nil }
    let stem = stem(of: mangled)
    return SwiftNameModule.module(ofFull: fullOfStem(stem)) ?? leadingModule(of: stem)
  }

  /// Whether the name is from Swift or C++, so that the functions of this type demangle it.
  public static func isMangled(_ name: String) -> Bool { isSwift(name) || isCxx(name) }

  /// Whether the demangled name has a reasonable length.
  ///
  /// Substitutions can expand a name of 250 bytes to terabytes, and no demangler limits the result. The check itself
  /// may exhaust memory or crash. Therefore the check must run in a disposable process before the name is demangled in
  /// any other process.
  public static func isReasonable(_ mangled: String) -> Bool {
    guard isSwift(mangled) || isCxx(mangled) else { return true }
    // If memory is exhausted, the demangler returns no string. Another process may have enough memory, so this result
    // does not mean that the name is too long.
    if isCxx(mangled) {
      let answer: (text: String?, isTooLong: Bool) = SwiftRuntimeDemangler.shared.cxx(mangled)
      return !answer.isTooLong && (answer.text?.utf8.count ?? 0) <= textLimitBytes
    }
    // The other functions of this type demangle only the name and its stem, so both are checked.
    let stem = isSwift(mangled) ? stem(of: mangled) : mangled
    return full(mangled).utf8.count <= textLimitBytes
      && (stem == mangled || fullOfStem(stem).utf8.count <= textLimitBytes)
  }

  /// Whether the function only forwards to another function.
  ///
  /// A reader does not need its frame. Initializers (`fC`) are excluded, although the Swift runtime classifies all of
  /// them as thunks. In a convenience initializer of a class, `fC` contains the actual code. In a designated
  /// initializer, `fC` has no source line.
  public static func isThunk(_ mangled: String) -> Bool {
    guard isSwift(mangled) else { return false }
    let stem = stem(of: mangled)
    return SwiftRuntimeDemangler.shared.simplified(stem).map(SwiftNameKind.isThunk(short:)) ?? false
  }

  /// Whether the function is used for several functions with equal bodies, which the Swift compiler has merged.
  ///
  /// The name of a merged function is the name of one of these functions.
  public static func isMerged(_ mangled: String) -> Bool {
    guard isSwift(mangled) else { return false }
    let stem = stem(of: mangled)
    // Merging is the compiler's last step, so the full name begins with "merged ". An identifier of the program cannot
    // be at that position.
    return SwiftRuntimeDemangler.shared.full(stem)?.utf8.starts(with: "merged ".utf8) ?? false
  }
}

extension Demangler {
  /// Whether the function is an outlined copy, retain or release that the compiler created (`outlined init with copy of
  /// …`).
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

  /// Returns the name without the suffixes that LLVM and the splitting of async functions add: `.17`, `.resume.0`,
  /// `TY0_`, `TQ1_`.
  static func stem(of mangled: String) -> String {
    var stem = mangled.utf8.prefix { $0 != UInt8(ascii: ".") }
    while let shorter = withoutAsyncSuffix(stem) { stem = shorter }
    return String(Substring(stem))
  }

  /// Removes a final `T[YQ][0-9]*_`.
  ///
  /// Returns nil if the name has no such suffix.
  private static func withoutAsyncSuffix(_ name: Substring.UTF8View) -> Substring.UTF8View? {
    guard name.last == UInt8(ascii: "_") else { return nil }
    var rest = name.dropLast()
    while let last = rest.last, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(last) { rest = rest.dropLast() }
    let kind = rest.suffix(2)
    return kind.elementsEqual("TY".utf8) || kind.elementsEqual("TQ".utf8) ? rest.dropLast(2) : nil
  }

  /// Returns the first identifier of the mangled name (`$s4shop…`).
  ///
  /// It is used if the demangled name has no module.
  private static func leadingModule(of stem: String) -> String? {
    let rest = stem.dropFirst(stem.hasPrefix("_T0") ? 3 : 2)
    let digits = rest.prefix { $0.isASCII && $0.isNumber }
    // A leading 0 means that the identifier is composed of words that occurred earlier in the name.
    guard let count = Int(digits), !digits.hasPrefix("0"), count <= rest.count - digits.count else { return nil }
    return String(rest.dropFirst(digits.count).prefix(count))
  }
}
