import CShim

#if canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#elseif canImport(Darwin)
  internal import Darwin
#endif

extension Shield {
  /// The reason why the shield did not start.
  ///
  /// The shield has changed nothing in the process.
  public enum StartError: Error, Equatable {
    /// The shield is already started, with the configuration of the first call. Call `Shield.start` in one place only.
    case alreadyStarted
    /// A setting of the configuration or of the environment is invalid; the string names this setting.
    case badArgument(String)
    /// The platform is not Linux on x86-64 or AArch64 with glibc; the library does nothing there.
    case unsupportedPlatform
    /// A system call failed. Continue without the shield, or retry later.
    case systemCall(String, errno: Int32)
  }
}

extension Shield.StartError: CustomStringConvertible {
  /// A description of what failed, on which setting or call, and why.
  public var description: String {
    switch self {
    case .alreadyStarted:
      return "cannot start the crash shield: it is started already"
    case .unsupportedPlatform:
      return "cannot start the crash shield: it works on Linux on x86-64 and AArch64 with glibc only"
    case .badArgument(let what):
      return "cannot start the crash shield: bad argument: \(what)"
    case .systemCall(let call, let errno):
      // Invariant: strerror returns a constant or storage of the calling thread, and the string is copied before the
      // next call.
      let why = unsafe strerror(errno).map { unsafe String(cString: $0) } ?? "errno \(errno)"
      return "cannot start the crash shield: \(call): \(why)"
    }
  }
}

extension Shield.StartError {
  /// Creates the error for a failure that the C code reports.
  ///
  /// Precondition: the result is not `CS_SHIM_DISABLED`.
  init(_ result: cs_shim_error, _ failure: cs_shim_failure) {
    // Invariant: `what` is a C array of chars (a tuple in Swift), and always NUL-terminated.
    let what = unsafe withUnsafeBytes(of: failure.what) { bytes in
      unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
    switch result {
    case .CS_SHIM_ALREADY_STARTED: self = .alreadyStarted
    case .CS_SHIM_UNSUPPORTED: self = .unsupportedPlatform
    case .CS_SHIM_BAD_ARGUMENT: self = .badArgument(what)
    default: self = .systemCall(what, errno: failure.errno_value)
    }
  }
}
