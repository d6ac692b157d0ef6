/// Demangles linkage names.
///
/// Names that are mangled neither by Swift nor by C++ are returned unchanged.
///
/// The names are untrusted, because they come from files of users. Therefore, names that are longer than 4 KiB are
/// returned unchanged.
///
/// Demangling takes about 2 µs for each name. Therefore, callers should demangle a name only when they build a report.
/// All functions can be called from any thread.
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
  /// The short name has no module, as in the output of `swift demangle -simplified`. If the compiler merged several
  /// functions into this one, the name begins with `merged `.
  ///
  /// The compiler splits an async function into several parts. For all parts, the result is the name of the function.
  public static func simplified(_ mangled: String) -> String {
    if isCxx(mangled) { return full(mangled) }
    // The name of top-level code with `await` is not mangled, so only remove its suffix.
    if mangled.hasPrefix("async_Main") { return stem(of: mangled) }
    guard isSwift(mangled) else { return mangled }
    let stem = stem(of: mangled)
    guard let simple = SwiftRuntimeDemangler.shared.simplified(stem), simple != stem else { return mangled }
    // For a closure in top-level code, the runtime's short name ends with " in ", because there is no enclosing
    // function.
    var name = simple.hasSuffix(" in ") ? String(simple.dropLast(4)) : simple
    if isNameless(short: name) { name = fullOfStem(stem) }
    name = withoutSendable(name)
    // Add the word `merged`, which the runtime's short name lacks: the compiler calls a merged function in place of
    // several functions with equal bodies.
    return isMerged(stem) ? "merged " + name : name
  }

  /// Removes the attribute `@Sendable` of the function's type, which the runtime prints between the function's name and
  /// its labels.
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

  /// Whether the short name does not contain the name of a function.
  ///
  /// The short name is then only `specialized `, or is empty because the demangler cannot shorten the name.
  public static func isNameless(_ mangled: String) -> Bool {
    guard isSwift(mangled) else { return false }
    return SwiftRuntimeDemangler.shared.simplified(stem(of: mangled)).map(isNameless(short:)) ?? false
  }

  private static func isNameless(short name: String) -> Bool { name.isEmpty || name.hasSuffix("specialized ") }

  /// Returns the module that contains the code.
  ///
  /// For code in an extension, the result is the module of the extension. Returns nil if the name contains no module.
  public static func module(of mangled: String) -> String? {
    guard isSwift(mangled) else { return nil }
    let stem = stem(of: mangled)
    return SwiftNameModule.module(ofFull: fullOfStem(stem)) ?? leadingModule(of: stem)
  }

  /// Whether the name is a mangled name of Swift or C++, which the functions of this type can demangle.
  public static func isMangled(_ name: String) -> Bool { isSwift(name) || isCxx(name) }

  /// Whether the demangled name has a reasonable length.
  ///
  /// Substitutions (references to earlier parts of the name) can expand a name of 250 bytes to terabytes, and the
  /// demanglers do not limit the result. This check can itself use up memory or crash. Therefore, it must run in a
  /// separate process that is allowed to crash, before any other process demangles the name.
  public static func isReasonable(_ mangled: String) -> Bool {
    guard isSwift(mangled) || isCxx(mangled) else { return true }
    // If memory is used up, the demangler returns no string. Such a name is not reasonable, because in a process with
    // more memory the demangler could return a huge string.
    if isCxx(mangled) {
      let answer: (text: String?, isTooLong: Bool) = SwiftRuntimeDemangler.shared.cxx(mangled)
      return !answer.isTooLong && (answer.text?.utf8.count ?? 0) <= textLimitBytes
    }
    // Check both the name and its stem (the name without suffixes), because the functions of this type demangle both.
    let stem = isSwift(mangled) ? stem(of: mangled) : mangled
    return full(mangled).utf8.count <= textLimitBytes
      && (stem == mangled || fullOfStem(stem).utf8.count <= textLimitBytes)
  }

  /// Whether the function only forwards its call to another function.
  ///
  /// Reports need not show the frame of such a thunk. The Swift runtime classifies all allocating initializers (`fC`)
  /// as thunks, but this function does not: for a convenience initializer of a class, `fC` contains the initializer's
  /// code, and for a designated initializer, `fC` has no source line.
  public static func isThunk(_ mangled: String) -> Bool {
    guard isSwift(mangled) else { return false }
    let stem = stem(of: mangled)
    return SwiftRuntimeDemangler.shared.simplified(stem).map(SwiftNameKind.isThunk(short:)) ?? false
  }

  /// Whether the Swift compiler has merged several functions with equal bodies into this function.
  ///
  /// The name of a merged function is the name of one of the original functions.
  public static func isMerged(_ mangled: String) -> Bool {
    guard isSwift(mangled) else { return false }
    let stem = stem(of: mangled)
    // The compiler marks merged functions in its last step, so the full name of a merged function begins with
    // "merged ". The full name of a local function that the program calls `merged` begins with "merged #1".
    guard let full = SwiftRuntimeDemangler.shared.full(stem)?.utf8 else { return false }
    return full.starts(with: "merged ".utf8) && !full.starts(with: "merged #".utf8)
  }
}

extension Demangler {
  /// Whether the function is an outlined copy, retain or release that the compiler generated (`outlined init with copy
  /// of …`).
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

  /// Returns the name without the suffixes that LLVM adds, and that the compiler adds for parts of async functions:
  /// `.17`, `.resume.0`, `TY0_`, `TQ1_`.
  static func stem(of mangled: String) -> String {
    var stem = mangled.utf8.prefix { $0 != UInt8(ascii: ".") }
    while let shorter = withoutAsyncSuffix(stem) { stem = shorter }
    return String(Substring(stem))
  }

  /// Removes a suffix of the form `T[YQ][0-9]*_`.
  ///
  /// Returns nil if the name has no suffix of this form.
  private static func withoutAsyncSuffix(_ name: Substring.UTF8View) -> Substring.UTF8View? {
    guard name.last == UInt8(ascii: "_") else { return nil }
    var rest = name.dropLast()
    while let last = rest.last, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(last) { rest = rest.dropLast() }
    let kind = rest.suffix(2)
    return kind.elementsEqual("TY".utf8) || kind.elementsEqual("TQ".utf8) ? rest.dropLast(2) : nil
  }

  /// Returns the first identifier of a mangled name, such as `shop` in `$s4shop…`.
  ///
  /// This identifier is used as the module if the demangled name contains no module.
  private static func leadingModule(of stem: String) -> String? {
    let rest = stem.dropFirst(stem.hasPrefix("_T0") ? 3 : 2)
    let digits = rest.prefix { $0.isASCII && $0.isNumber }
    // Return nil for a leading 0: such an identifier is composed of words from earlier parts of the mangled name.
    guard let count = Int(digits), !digits.hasPrefix("0"), count <= rest.count - digits.count else { return nil }
    return String(rest.dropFirst(digits.count).prefix(count))
  }
}
