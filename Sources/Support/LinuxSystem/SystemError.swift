public import Glibc

/// A system call that failed.
public struct SystemError: Error, Equatable, CustomStringConvertible {
  /// The operation, such as `bind '/run/crashd/attach'`.
  public var what: String
  /// The errno of the call.
  public var code: Int32

  /// Creates an error with the errno of the call that has just failed, unless another code is given.
  public init(_ what: String, code: Int32 = errno) {
    self.what = what
    self.code = code
  }

  /// Describes the failure in one sentence: what failed, and why.
  public var description: String { "cannot \(what): \(Self.text(code))" }

  /// Returns the error message of an errno.
  public static func text(_ code: Int32) -> String {
    // Invariant: strerror of glibc 2.32 and later returns a constant or a thread-local string, never NULL.
    unsafe String(cString: strerror(code))
  }

  /// Throws if a function of `CLinux` returned an errno value.
  public static func check(_ code: Int32, _ what: @autoclosure () -> String) throws(SystemError) {
    if code != 0 { throw SystemError(what(), code: code) }
  }
}
