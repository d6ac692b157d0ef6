import Glibc
import LinuxSystem

/// Writes one unwind file: the tables of an image, extracted by `crash-analyse`, so that a crash can be unwound again
/// after the image is removed.
struct UnwindTableJob: Sendable {
  var program: String
  var image: Descriptor
  var buildID: String
  var output: String
  var timeout_ms: Int
  /// A crash waits for it.
  var isUrgent = false
  /// Gets the CPU time of the child.
  var charge: @Sendable (_ cpu_ns: UInt64) -> Void = { _ in }

  /// Waits for the child.
  ///
  /// The file is at `output` when this returns, and nothing when it throws.
  func run() throws {
    let partial = "\(output).\(getpid()).\(UInt32.random(in: .min ... .max)).partial"
    // No variadic argument but the mode, which open reads as one.
    let number = unsafe open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard number >= 0 else { throw SystemError("create '\(partial)'") }
    defer { _ = unsafe unlink(partial) }
    let file = Descriptor(owning: number)
    let child = HelperChild(
      program: program, arguments: ["unwind-tables", "--build-id", buildID] + (isUrgent ? ["--urgent"] : []),
      timeout_ms: timeout_ms, charge: charge)
    try child.run(input: image, output: file)
    // After a power failure the name must not exist without the contents.
    guard fsync(number) == 0 else { throw SystemError("write '\(partial)'") }
    guard unsafe rename(partial, output) == 0 else { throw SystemError("rename '\(partial)'") }
  }
}

extension CacheName {
  static let unwindSuffix = ".csunw"

  /// Beside the symbol cache.
  ///
  /// The number is the version of the format: a file of another version is not found.
  func unwindPath(in caches: String) -> String { "\(directory(in: caches))/\(buildID).1\(Self.unwindSuffix)" }
}
