import Glibc

// A stable entry point of the Swift runtime that no header declares. Its parameters are name, length, buffer, buffer
// size and flags 0. The caller frees the result.
@_silgen_name("swift_demangle")
private func swift_demangle(
  _ name: UnsafePointer<CChar>?, _ length: Int, _ buffer: UnsafeMutablePointer<CChar>?,
  _ bufferBytes: UnsafeMutablePointer<Int>?, _ flags: UInt32
) -> UnsafeMutablePointer<CChar>?

// An entry point of the Swift runtime for its module `Runtime`. Its parameters are name, length, buffer and buffer
// size. The caller frees the result. The function is linked and not found with dlsym, because a program with a static
// standard library does not export it. If a new Swift version removes the function, the build fails.
@_silgen_name("_swift_backtrace_demangle")
private func swift_backtrace_demangle(
  _ name: UnsafePointer<CChar>?, _ length: Int, _ buffer: UnsafeMutablePointer<CChar>?,
  _ bufferBytes: UnsafeMutablePointer<Int>?
) -> UnsafeMutablePointer<CChar>?

/// The demanglers that are loaded in this process: that of the Swift runtime and that of the C++ runtime.
@safe struct SwiftRuntimeDemangler: Sendable {
  private typealias CxxDemangle =
    @convention(c) (
      UnsafePointer<CChar>?, UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<Int>?, UnsafeMutablePointer<Int32>?
    ) -> UnsafeMutablePointer<CChar>?

  /// The only instance, which finds the C++ demangler at the first use.
  static let shared = SwiftRuntimeDemangler()

  private let cxx: CxxDemangle?

  private init() {
    // The type matches the function's definition in the C++ ABI.
    unsafe cxx = Self.function("__cxa_demangle").map { unsafe unsafeBitCast($0, to: CxxDemangle.self) }
  }

  private static func function(_ name: String) -> UnsafeMutableRawPointer? {
    // A null handle is RTLD_DEFAULT, which searches all loaded libraries.
    unsafe dlsym(nil, name)
  }

  /// Returns the name with modules, types and labels; nil if the name is not a Swift name.
  func full(_ name: String) -> String? {
    // The name stays valid during the call.
    unsafe name.withCString { unsafe Self.take(swift_demangle($0, strlen($0), nil, nil, 0)) }
  }

  /// Returns the name as swift-backtrace and `swift demangle -simplified` print it; nil if the name is not a Swift
  /// name.
  func simplified(_ name: String) -> String? {
    var bytes = 0
    // The name and the count stay valid during the call.
    return unsafe name.withCString { unsafe Self.take(swift_backtrace_demangle($0, strlen($0), nil, &bytes)) }
  }

  /// Demangles a C++ name; nil if the name is not a C++ name.
  func cxx(_ name: String) -> String? { cxx(name).text }

  /// Demangles a C++ name, and returns whether the text is missing because memory was exhausted.
  func cxx(_ name: String) -> (text: String?, isTooLong: Bool) {
    guard let cxx = unsafe cxx else { return (nil, false) }
    var status: Int32 = 0
    // The name and the status stay valid during the call. No buffer or length is passed.
    let text = unsafe name.withCString { unsafe Self.take(cxx($0, nil, nil, &status)) }
    return (text, status == -1)
  }

  /// Copies a C string and frees it.
  private static func take(_ text: UnsafeMutablePointer<CChar>?) -> String? {
    guard let text = unsafe text else { return nil }
    // All demanglers return text that was allocated with malloc and ends with a NUL.
    defer { unsafe free(text) }
    return unsafe String(cString: text)
  }
}
