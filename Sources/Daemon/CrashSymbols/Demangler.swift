/// Demangles linkage names.
///
/// Names of neither Swift nor C++ are returned unchanged.
///
/// Names come from untrusted files: those above 4 KiB are returned unchanged.
///
/// It takes about 2 µs per name: demangle when a report is built, not earlier. Safe from any thread.
public enum Demangler: Sendable {
  /// The complete name: `shop.Cart.total(for: Swift.Int) async throws -> Swift.Int`.
  public static func full(_ mangled: String) -> String {
    let runtime = SwiftRuntimeDemangler.shared
    if isSwift(mangled) { return runtime.full(mangled) ?? mangled }
    if isCxx(mangled) { return runtime.cxx(mangled) ?? mangled }
    return mangled
  }

  /// For people: `Cart.total(for:)`, without the module, as `swift demangle -simplified` prints it, and whether it is
  /// merged.
  ///
  /// The pieces that the compiler splits an async function into have one name: that of the function.
  public static func simplified(_ mangled: String) -> String {
    if isCxx(mangled) { return full(mangled) }
    // Top-level code with `await`: all its parts have one name, which is not mangled.
    if mangled.hasPrefix("async_Main") { return stem(of: mangled) }
    guard isSwift(mangled) else { return mangled }
    let stem = stem(of: mangled)
    guard let simple = SwiftRuntimeDemangler.shared.simplified(stem), simple != stem else { return mangled }
    // A closure of top-level code is "in" nothing.
    var name = simple.hasSuffix(" in ") ? String(simple.dropLast(4)) : simple
    if isNameless(short: name) { name = fullOfStem(stem) }
    // One of several functions with the same body, which the runtime's short form does not show.
    return isMerged(stem) ? "merged " + name : name
  }

  /// Whether the short form of a name names no function: only `specialized `, and whatever the demangler cannot shorten.
  public static func isNameless(_ mangled: String) -> Bool {
    guard isSwift(mangled) else { return false }
    return SwiftRuntimeDemangler.shared.simplified(stem(of: mangled)).map(isNameless(short:)) ?? false
  }

  private static func isNameless(short name: String) -> Bool { name.isEmpty || name.hasSuffix("specialized ") }

  /// The module that the code belongs to, an extension's own one; nil for names without one.
  public static func module(of mangled: String) -> String? {
    guard isSwift(mangled) else { return nil }
    let stem = stem(of: mangled)
    return SwiftNameModule.module(ofFull: fullOfStem(stem)) ?? leadingModule(of: stem)
  }

  /// Whether the functions here demangle a name, rather than return it unchanged.
  public static func isMangled(_ name: String) -> Bool { isSwift(name) || isCxx(name) }

  /// Whether the demangled name has a reasonable length.
  ///
  /// Substitutions can expand a name of 250 bytes to terabytes, and no demangler has a limit: the check may take all
  /// memory, or crash. Run it in a disposable process, before an untrusted name is demangled elsewhere.
  public static func isReasonable(_ mangled: String) -> Bool {
    guard isSwift(mangled) || isCxx(mangled) else { return true }
    // Without memory there is no text; another process may have memory.
    if isCxx(mangled) {
      let answer: (text: String?, isTooLong: Bool) = SwiftRuntimeDemangler.shared.cxx(mangled)
      return !answer.isTooLong && (answer.text?.utf8.count ?? 0) <= textLimitBytes
    }
    // The other functions demangle the name or its stem, and nothing else.
    let stem = isSwift(mangled) ? stem(of: mangled) : mangled
    return full(mangled).utf8.count <= textLimitBytes
      && (stem == mangled || fullOfStem(stem).utf8.count <= textLimitBytes)
  }

  /// Whether the function only forwards to another one, so that a reader does not miss it.
  ///
  /// Initializers (`fC`) do not count, although the Swift runtime classifies all of them as thunks: a class's has the
  /// code of a convenience initializer, and for a designated one it has no line.
  public static func isThunk(_ mangled: String) -> Bool {
    guard isSwift(mangled) else { return false }
    let stem = stem(of: mangled)
    return SwiftRuntimeDemangler.shared.simplified(stem).map(SwiftNameKind.isThunk(short:)) ?? false
  }

  /// Whether the function stands for several: swiftc has merged functions with equal bodies, and the name is that of
  /// one of them.
  public static func isMerged(_ mangled: String) -> Bool {
    guard isSwift(mangled) else { return false }
    let stem = stem(of: mangled)
    // Functions are merged last: the word comes first, where no name of a program can be.
    return SwiftRuntimeDemangler.shared.full(stem)?.utf8.starts(with: "merged ".utf8) ?? false
  }
}

extension Demangler {
  /// Whether the compiler has outlined a copy, a retain or a release (`outlined init with copy of …`).
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

  /// The name without suffixes of LLVM and the async splitter: `.17`, `.resume.0`, `TY0_`, `TQ1_`.
  static func stem(of mangled: String) -> String {
    var stem = mangled.utf8.prefix { $0 != UInt8(ascii: ".") }
    while let shorter = withoutAsyncSuffix(stem) { stem = shorter }
    return String(Substring(stem))
  }

  /// Without a last `T[YQ][0-9]*_`; nil when there is none.
  private static func withoutAsyncSuffix(_ name: Substring.UTF8View) -> Substring.UTF8View? {
    guard name.last == UInt8(ascii: "_") else { return nil }
    var rest = name.dropLast()
    while let last = rest.last, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(last) { rest = rest.dropLast() }
    let kind = rest.suffix(2)
    return kind.elementsEqual("TY".utf8) || kind.elementsEqual("TQ".utf8) ? rest.dropLast(2) : nil
  }

  /// The first identifier of the mangled name (`$s4shop…`), for names whose text has no module.
  private static func leadingModule(of stem: String) -> String? {
    let rest = stem.dropFirst(stem.hasPrefix("_T0") ? 3 : 2)
    let digits = rest.prefix { $0.isASCII && $0.isNumber }
    // A leading 0 announces an identifier that is put together from words.
    guard let count = Int(digits), !digits.hasPrefix("0"), count <= rest.count - digits.count else { return nil }
    return String(rest.dropFirst(digits.count).prefix(count))
  }
}
