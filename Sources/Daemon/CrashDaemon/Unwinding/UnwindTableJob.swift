import Glibc
import LinuxSystem

/// Extracts the unwind tables of an image into an unwind file, by running `crash-analyse`.
///
/// With this file, crashd can unwind a crash again even after the image was removed.
struct UnwindTableJob: Sendable {
  var program: String
  var image: Descriptor
  var buildID: String
  var output: String
  var timeout_ms: Int
  /// Whether a crash waits for the file.
  var isUrgent = false
  /// Called with the CPU time of the child process.
  var charge: @Sendable (_ cpu_ns: UInt64) -> Void = { _ in }

  /// Runs the child and waits for it.
  ///
  /// If this method returns, the file is at `output`. If it throws, it leaves no file behind.
  func run() throws {
    let partial = "\(output).\(getpid()).\(UInt32.random(in: .min ... .max)).partial"
    // open reads one variadic argument, the mode, because O_CREAT is set. The mode is the only variadic argument here.
    let number = unsafe open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard number >= 0 else { throw SystemError("create '\(partial)'") }
    defer { _ = unsafe unlink(partial) }
    let file = Descriptor(owning: number)
    let child = HelperChild(
      program: program, arguments: ["unwind-tables", "--build-id", buildID] + (isUrgent ? ["--urgent"] : []),
      timeout_ms: timeout_ms, charge: charge)
    try child.run(input: image, output: file)
    // The contents are synced before the rename. Otherwise a power failure could leave the name without the contents.
    guard fsync(number) == 0 else { throw SystemError("write '\(partial)'") }
    guard unsafe rename(partial, output) == 0 else { throw SystemError("rename '\(partial)'") }
  }
}

extension CacheName {
  static let unwindSuffix = ".csunw"

  /// Returns the path of the unwind file, which is in the directory of the symbol cache.
  ///
  /// The number in the file name is the version of the format. crashd does not find files of other versions.
  func unwindPath(in caches: String) -> String { "\(directory(in: caches))/\(buildID).1\(Self.unwindSuffix)" }
}
