import Glibc

/// A system call that failed.
struct SystemError: Error, Equatable, CustomStringConvertible {
  /// What was wanted, such as `bind '/run/crashd/attach'`.
  var what: String
  /// Its errno.
  var code: Int32

  init(_ what: String, code: Int32 = errno) {
    self.what = what
    self.code = code
  }

  var description: String { "cannot \(what): \(Self.text(code))" }

  static func text(_ code: Int32) -> String {
    // strerror of glibc ≥ 2.32 returns a constant or a thread-local string, never nil.
    unsafe String(cString: strerror(code))
  }

  /// Throws when a function of `cd_system.h` returned an errno value.
  static func check(_ code: Int32, _ what: @autoclosure () -> String) throws(SystemError) {
    if code != 0 { throw SystemError(what(), code: code) }
  }
}
