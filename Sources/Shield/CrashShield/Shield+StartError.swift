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
  /// The process is unchanged.
  public enum StartError: Error, Equatable {
    /// The shield is started already, with the configuration of the first call. Start it in one place only.
    case alreadyStarted
    /// A setting of the configuration or of the environment is invalid; the text names it.
    case badArgument(String)
    /// The platform is not Linux on x86-64 with glibc; elsewhere the library does nothing.
    case unsupportedPlatform
    /// A system call failed. Continue without the shield, or retry later.
    case systemCall(String, errno: Int32)
  }
}

extension Shield.StartError: CustomStringConvertible {
  /// What failed, on what, and why.
  public var description: String {
    switch self {
    case .alreadyStarted:
      return "cannot start the crash shield: it is started already"
    case .unsupportedPlatform:
      return "cannot start the crash shield: it works on Linux on x86-64 with glibc only"
    case .badArgument(let what):
      return "cannot start the crash shield: bad argument: \(what)"
    case .systemCall(let call, let errno):
      // glibc's strerror returns storage of the calling thread or a constant, valid until its next call.
      let why = unsafe strerror(errno).map { unsafe String(cString: $0) } ?? "errno \(errno)"
      return "cannot start the crash shield: \(call): \(why)"
    }
  }
}

extension Shield.StartError {
  /// Translates a failure of the C side that is not `CS_SHIM_DISABLED`.
  init(_ result: cs_shim_error, _ failure: cs_shim_failure) {
    // `what` is an array of chars in C, a tuple in Swift, and always NUL-terminated.
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
