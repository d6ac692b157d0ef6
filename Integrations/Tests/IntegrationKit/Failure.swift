import Dispatch
import Glibc

/// A failed system call of a test.
public struct Failure: Error, CustomStringConvertible {
  /// What failed, and why.
  public let description: String

  init(_ what: String, code: Int32 = errno) {
    // Invariant: strerror returns a valid C string.
    description = "cannot \(what): \(unsafe String(cString: strerror(code)))"
  }
}

/// Runs a closure on a separate thread, because the closure can block.
///
/// - Throws: The errors of the closure.
public func onThread<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws -> Result {
  try await withCheckedThrowingContinuation { continuation in
    DispatchQueue(label: "blocking").async { continuation.resume(with: Swift.Result { try body() }) }
  }
}
