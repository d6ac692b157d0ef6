/// Makes linkage names readable.
///
/// Names of neither Swift nor C++ come back unchanged.
///
/// Names come from files that nobody vouches for: those above 4 KiB are taken as they are.
///
/// About 2 µs a name: demangle when a report is made, not before. Safe to use from any thread.
public enum Demangler: Sendable {
  /// The whole truth: `shop.Cart.total(for: Swift.Int) async throws -> Swift.Int`.
  public static func full(_ mangled: String) -> String {
    let runtime = SwiftRuntimeDemangler.shared
    if isSwift(mangled) { return runtime.full(mangled) ?? mangled }
    if isCxx(mangled) { return runtime.cxx(mangled) ?? mangled }
    return mangled
  }

  /// For people: `Cart.total(for:)`, without the module; what `swift demangle -simplified` says, and whether it is merged.
  ///
  /// The pieces that the compiler splits an async function into have one name: that of the function.
  public static func simplified(_ mangled: String) -> String {
    if isCxx(mangled) { return full(mangled) }
    // Top-level code that awaits: one name, and no mangled one.
    if mangled.hasPrefix("async_Main") { return stem(of: mangled) }
    guard isSwift(mangled) else { return mangled }
    let stem = stem(of: mangled)
    guard let simple = SwiftRuntimeDemangler.shared.simplified(stem), simple != stem else { return mangled }
    // A closure of top-level code is "in" nothing.
    let name = simple.hasSuffix(" in ") ? String(simple.dropLast(4)) : simple
    // One of several functions with the same body, which the runtime's short form does not say.
    return isMerged(stem) ? "merged " + name : name
  }

  /// The module that the code belongs to, an extension's own one; nil for names that tell none.
  public static func module(of mangled: String) -> String? {
    guard isSwift(mangled) else { return nil }
    let stem = stem(of: mangled)
    return SwiftNameModule.module(ofFull: fullOfStem(stem)) ?? leadingModule(of: stem)
  }

  /// Whether the functions here write a name out, rather than give it back as it is.
  public static func isMangled(_ name: String) -> Bool { isSwift(name) || isCxx(name) }

  /// Whether the name has a text of a length that somebody may want to read.
  ///
  /// Substitutions can make terabytes of a name of 250 bytes, and no demangler has a limit: the answer may take all
  /// memory, or end the process. Ask it in a process that may end, before a name of a stranger goes anywhere else.
  public static func isReasonable(_ mangled: String) -> Bool {
    guard isSwift(mangled) || isCxx(mangled) else { return true }
    // Without memory there is no text; elsewhere there may be memory.
    if isCxx(mangled) {
      let answer: (text: String?, isTooLong: Bool) = SwiftRuntimeDemangler.shared.cxx(mangled)
      return !answer.isTooLong && (answer.text?.utf8.count ?? 0) <= textLimitBytes
    }
    // The other functions demangle the name or its stem, and nothing else.
    let stem = isSwift(mangled) ? stem(of: mangled) : mangled
    return full(mangled).utf8.count <= textLimitBytes
      && (stem == mangled || fullOfStem(stem).utf8.count <= textLimitBytes)
  }

  /// Whether the function only leads to another one, so that a reader does not miss it.
  ///
  /// No initializer is (`fC`), though the Swift runtime takes all of them for thunks: that of a class has the code of a
  /// convenience initializer, and for a designated one it has no line.
  public static func isThunk(_ mangled: String) -> Bool {
    guard isSwift(mangled) else { return false }
    let stem = stem(of: mangled)
    return SwiftRuntimeDemangler.shared.simplified(stem).map(SwiftNameKind.isThunk(short:)) ?? false
  }

  /// Whether the function stands for several: swiftc has merged functions of one body, and the name is that of one of them.
  public static func isMerged(_ mangled: String) -> Bool {
    guard isSwift(mangled) else { return false }
    let stem = stem(of: mangled)
    // Functions are merged last: the word stands first, where no name of a program can be.
    return SwiftRuntimeDemangler.shared.full(stem)?.utf8.starts(with: "merged ".utf8) ?? false
  }
}

extension Demangler {
  /// Whether the compiler has taken a copy, a retain or a release out of a function (`outlined init with copy of …`).
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

  /// The name without what LLVM and the async splitter have put after it: `.17`, `.resume.0`, `TY0_`, `TQ1_`.
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

  /// The first identifier of the mangled name (`$s4shop…`), for names whose text tells no module.
  private static func leadingModule(of stem: String) -> String? {
    let rest = stem.dropFirst(stem.hasPrefix("_T0") ? 3 : 2)
    let digits = rest.prefix { $0.isASCII && $0.isNumber }
    // A leading 0 announces an identifier that is put together from words.
    guard let count = Int(digits), !digits.hasPrefix("0"), count <= rest.count - digits.count else { return nil }
    return String(rest.dropFirst(digits.count).prefix(count))
  }
}
