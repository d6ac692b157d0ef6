import Glibc

// A function of the Swift runtime that no header declares, but whose interface is stable. The parameters are name,
// length, buffer, buffer size, and flags, which must be 0. The caller must free the result.
@_silgen_name("swift_demangle")
private func swift_demangle(
  _ name: UnsafePointer<CChar>?, _ length: Int, _ buffer: UnsafeMutablePointer<CChar>?,
  _ bufferBytes: UnsafeMutablePointer<Int>?, _ flags: UInt32
) -> UnsafeMutablePointer<CChar>?

// A function of the Swift runtime that the runtime's module `Runtime` uses. The parameters are name, length, buffer and
// buffer size. The caller must free the result. The code links to this function instead of finding it with dlsym,
// because a program with a static standard library does not export it. If a new Swift version removes the function, the
// build fails, which reveals the problem.
@_silgen_name("_swift_backtrace_demangle")
private func swift_backtrace_demangle(
  _ name: UnsafePointer<CChar>?, _ length: Int, _ buffer: UnsafeMutablePointer<CChar>?,
  _ bufferBytes: UnsafeMutablePointer<Int>?
) -> UnsafeMutablePointer<CChar>?

/// Calls the demanglers that are loaded in this process: the demangler of the Swift runtime and the demangler of the
/// C++ runtime.
@safe struct SwiftRuntimeDemangler: Sendable {
  private typealias CxxDemangle =
    @convention(c) (
      UnsafePointer<CChar>?, UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<Int>?, UnsafeMutablePointer<Int32>?
    ) -> UnsafeMutablePointer<CChar>?

  /// The only instance.
  ///
  /// The C++ demangler is looked up when this property is first used.
  static let shared = SwiftRuntimeDemangler()

  private let cxx: CxxDemangle?

  private init() {
    // The type `CxxDemangle` matches the definition of `__cxa_demangle` in the Itanium C++ ABI.
    unsafe cxx = Self.function("__cxa_demangle").map { unsafe unsafeBitCast($0, to: CxxDemangle.self) }
  }

  private static func function(_ name: String) -> UnsafeMutableRawPointer? {
    // A null handle is RTLD_DEFAULT, so dlsym searches all loaded libraries for the name.
    unsafe dlsym(nil, name)
  }

  /// Returns the demangled name with modules, types and labels; nil if the name is not a Swift name.
  func full(_ name: String) -> String? {
    // The C string is valid during the call. Because the buffer is null, the runtime allocates the result.
    unsafe name.withCString { unsafe Self.take(swift_demangle($0, strlen($0), nil, nil, 0)) }
  }

  /// Returns the short name that swift-backtrace and `swift demangle -simplified` print; nil if the name is not a Swift
  /// name.
  func simplified(_ name: String) -> String? {
    var bytes = 0
    // The C string and the variable `bytes` are valid during the call.
    return unsafe name.withCString { unsafe Self.take(swift_backtrace_demangle($0, strlen($0), nil, &bytes)) }
  }

  /// Demangles a C++ name.
  ///
  /// Returns nil if the name is not a C++ name.
  func cxx(_ name: String) -> String? { cxx(name).text }

  /// Demangles a C++ name.
  ///
  /// `isTooLong` states whether the demangler returned nothing because it could not allocate enough memory.
  func cxx(_ name: String) -> (text: String?, isTooLong: Bool) {
    guard let cxx = unsafe cxx else { return (nil, false) }
    var status: Int32 = 0
    // The C string and the variable `status` are valid during the call. No buffer is passed, so the function allocates
    // the result.
    let text = unsafe name.withCString { unsafe Self.take(cxx($0, nil, nil, &status)) }
    return (text, status == -1)
  }

  /// Copies a C string, and frees the original string.
  private static func take(_ text: UnsafeMutablePointer<CChar>?) -> String? {
    guard let text = unsafe text else { return nil }
    // All demanglers return a null-terminated string that was allocated with malloc.
    defer { unsafe free(text) }
    return unsafe String(cString: text)
  }
}
