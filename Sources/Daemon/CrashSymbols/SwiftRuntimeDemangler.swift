import Glibc

// A stable entry point of the Swift runtime, but in no header: (name, length, buffer, buffer's size, flags 0). The
// caller frees the result.
@_silgen_name("swift_demangle")
private func swift_demangle(
  _ name: UnsafePointer<CChar>?, _ length: Int, _ buffer: UnsafeMutablePointer<CChar>?,
  _ bufferBytes: UnsafeMutablePointer<Int>?, _ flags: UInt32
) -> UnsafeMutablePointer<CChar>?

// An entry point of the Swift runtime for its module `Runtime`: (name, length, buffer, buffer's size). The caller frees
// the result. It is linked, not looked up: a program with a static standard library exports none. If a new Swift
// removes it, the build fails.
@_silgen_name("_swift_backtrace_demangle")
private func swift_backtrace_demangle(
  _ name: UnsafePointer<CChar>?, _ length: Int, _ buffer: UnsafeMutablePointer<CChar>?,
  _ bufferBytes: UnsafeMutablePointer<Int>?
) -> UnsafeMutablePointer<CChar>?

/// The demanglers that the process has: the Swift runtime's, and that of the C++ runtime.
@safe struct SwiftRuntimeDemangler: Sendable {
  private typealias CxxDemangle =
    @convention(c) (
      UnsafePointer<CChar>?, UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<Int>?, UnsafeMutablePointer<Int32>?
    ) -> UnsafeMutablePointer<CChar>?

  /// Looked up once, at the first use.
  static let shared = SwiftRuntimeDemangler()

  private let cxx: CxxDemangle?

  private init() {
    // The type is that of the function's definition in the C++ ABI.
    unsafe cxx = Self.function("__cxa_demangle").map { unsafe unsafeBitCast($0, to: CxxDemangle.self) }
  }

  private static func function(_ name: String) -> UnsafeMutableRawPointer? {
    // A null handle is RTLD_DEFAULT: everything that is loaded.
    unsafe dlsym(nil, name)
  }

  /// With modules, types and labels; nil for a name that is not Swift's.
  func full(_ name: String) -> String? {
    // The name outlives the call.
    unsafe name.withCString { unsafe Self.take(swift_demangle($0, strlen($0), nil, nil, 0)) }
  }

  /// As swift-backtrace and `swift demangle -simplified` print it; nil for a name that is not Swift's.
  func simplified(_ name: String) -> String? {
    var bytes = 0
    // The name and the count outlive the call.
    return unsafe name.withCString { unsafe Self.take(swift_backtrace_demangle($0, strlen($0), nil, &bytes)) }
  }

  /// A C++ name; nil when it is none.
  func cxx(_ name: String) -> String? { cxx(name).text }

  /// The same, and whether the text is missing because there was not enough memory for it.
  func cxx(_ name: String) -> (text: String?, isTooLong: Bool) {
    guard let cxx = unsafe cxx else { return (nil, false) }
    var status: Int32 = 0
    // The name and the status outlive the call; no buffer or length is passed.
    let text = unsafe name.withCString { unsafe Self.take(cxx($0, nil, nil, &status)) }
    return (text, status == -1)
  }

  /// Copies a C string and frees it.
  private static func take(_ text: UnsafeMutablePointer<CChar>?) -> String? {
    guard let text = unsafe text else { return nil }
    // All demanglers return malloc'd, NUL-terminated text.
    defer { unsafe free(text) }
    return unsafe String(cString: text)
  }
}
