import Glibc
import LinuxSystem

/// Writes one unwind file, that is, the unwind tables of an image, extracted by `crash-analyse`.
///
/// With this file a crash can be unwound again after the image was removed.
struct UnwindTableJob: Sendable {
  var program: String
  var image: Descriptor
  var buildID: String
  var output: String
  var timeout_ms: Int
  /// Whether a crash waits for the file.
  var isUrgent = false
  /// Receives the CPU time of the child.
  var charge: @Sendable (_ cpu_ns: UInt64) -> Void = { _ in }

  /// Runs the child and waits for it.
  ///
  /// If this returns, the file is at `output`. If it throws, no file is left.
  func run() throws {
    let partial = "\(output).\(getpid()).\(UInt32.random(in: .min ... .max)).partial"
    // The only variadic argument is the mode, which open reads because of O_CREAT.
    let number = unsafe open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard number >= 0 else { throw SystemError("create '\(partial)'") }
    defer { _ = unsafe unlink(partial) }
    let file = Descriptor(owning: number)
    let child = HelperChild(
      program: program, arguments: ["unwind-tables", "--build-id", buildID] + (isUrgent ? ["--urgent"] : []),
      timeout_ms: timeout_ms, charge: charge)
    try child.run(input: image, output: file)
    // Syncs first: after a power failure the name must not exist without the contents.
    guard fsync(number) == 0 else { throw SystemError("write '\(partial)'") }
    guard unsafe rename(partial, output) == 0 else { throw SystemError("rename '\(partial)'") }
  }
}

extension CacheName {
  static let unwindSuffix = ".csunw"

  /// Returns the path of the unwind file, beside the symbol cache.
  ///
  /// The number in the name is the version of the format. Files of other versions are never found.
  func unwindPath(in caches: String) -> String { "\(directory(in: caches))/\(buildID).1\(Self.unwindSuffix)" }
}
