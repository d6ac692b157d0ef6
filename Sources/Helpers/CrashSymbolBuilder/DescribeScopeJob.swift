import CConfine
import CLibdw
public import CrashSymbols
import Glibc

/// Implements `crash-analyse describe-scope`: reads the image on stdin, and writes the scope at a link address to
/// stdout.
///
/// If the image has no debug information for the address, the description has only the code bytes.
///
/// Also implements `crash-analyse describe-classes`, which writes the Swift classes whose names occur in the symbols of
/// the function at the address.
public enum DescribeScopeJob: Sendable {
  /// The limit of the CPU time, which a forged image can reach.
  ///
  /// The image of a large server takes a tenth of this time.
  private static let processorTime_s: UInt = 2

  /// Confines the process, then describes the scope.
  ///
  /// The parameter `buildID` is the required build id, in lower-case hexadecimal digits. An empty `buildID` accepts any
  /// image.
  public static func run(buildID: String, pc: UInt64, isOfClasses: Bool = false) -> BuildCacheJob.Status {
    var limit = rlimit(rlim_cur: processorTime_s, rlim_max: processorTime_s)
    // Invariant: setrlimit reads the structure only during the call.
    guard unsafe setrlimit(__rlimit_resource_t(RLIMIT_CPU.rawValue), &limit) == 0, cs_confine_image(STDIN_FILENO) == 0
    else {
      return BuildCacheJob.fail(.inputOutput, "cannot confine itself: errno \(errno)")
    }
    let description: ScopeDescription
    do throws(SymbolCacheBuilder.Failure) {
      description = try SymbolCacheBuilder.scope(
        image: STDIN_FILENO, buildID: buildID, pc: pc, isOfClasses: isOfClasses)
    } catch {
      return BuildCacheJob.fail(error)
    }
    var rest = Array(description.text.utf8)[...]
    while !rest.isEmpty {
      // Invariant: write reads as many bytes as the slice has.
      let count = unsafe rest.withUnsafeBytes { unsafe write(STDOUT_FILENO, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return BuildCacheJob.fail(.inputOutput, "cannot write: errno \(errno)") }
      rest = rest.dropFirst(count)
    }
    return .good
  }
}

extension SymbolCacheBuilder {
  /// Returns the scope at the link address `pc` of the image open as `image`, with demangled names.
  ///
  /// With `isOfClasses`, returns the classes whose names occur in the symbols of the function at `pc`.
  public static func scope(
    image descriptor: Int32, buildID: String, pc: UInt64, isOfClasses: Bool = false
  ) throws(Failure) -> ScopeDescription {
    let image = try OpenImage(descriptor, buildID: buildID)
    defer { image.close() }
    var bytes = [UInt8](repeating: 0, count: Int(CS_SCOPE_TEXT_BYTES))
    // Invariant: the C function writes at most as many bytes as the array has.
    let count = unsafe bytes.withUnsafeMutableBytes { buffer in
      let text = unsafe buffer.baseAddress?.assumingMemoryBound(to: CChar.self)
      return unsafe isOfClasses
        ? cs_scope_describe_classes(image.pointer, pc, text) : cs_scope_describe(image.pointer, pc, text)
    }
    var description = ScopeDescription(Array(bytes.prefix(count)))
    for index in description.types.indices { description.types[index].writeOutSwiftNames() }
    for index in description.namedClasses.indices {
      let name = description.namedClasses[index].name
      description.namedClasses[index].name = ScopeDescription.Structure.readable(name)
    }
    description.namedClasses.removeAll { $0.name.isEmpty }
    return description
  }
}

extension ScopeDescription.Structure {
  /// Demangles the name of a Swift class, and computes the sizes of its properties.
  ///
  /// The size of a property is the distance to the start of the next property.
  mutating func writeOutSwiftNames() {
    guard name.hasPrefix("$s") else { return }
    name = Self.readable(name)
    // Remove properties whose offset is inside the object's header of two words, because the runtime computes their
    // real offsets.
    fields.removeAll { $0.offset < 16 }
    fields.sort { $0.offset < $1.offset }
    for index in fields.indices {
      let end = index + 1 < fields.count ? fields[index + 1].offset : size ?? 0
      fields[index].size = end > fields[index].offset ? end - fields[index].offset : 8
    }
  }

  /// Returns the demangled form of a linkage name.
  static func readable(_ name: String) -> String {
    Demangler.isReasonable(name) ? lastPart(of: Demangler.full(name)) : ""
  }

  /// Returns the class name without the module and without the `?` of an optional: `Cart` for `shop.Cart?`, and for the
  /// private `shop.(Cart in _0123…)`.
  private static func lastPart(of name: String) -> String {
    var last = name.split(separator: ".").last ?? ""
    if last.hasSuffix("?") { last = last.dropLast() }
    guard last.hasPrefix("("), let end = last.firstRange(of: " in ") else { return String(last) }
    return String(last[..<end.lowerBound].dropFirst())
  }
}
