import Glibc
import LinuxSystem

/// Extracts the unwind tables of an image into a file, with `crash-analyse`.
///
/// With this file, crashd can unwind a crash again even if the image was removed.
struct UnwindTableJob: Sendable {
  var program: String
  var image: Descriptor
  var buildID: String
  var output: String
  var timeout_ms: Int
  /// Whether the analysis of a crash waits for the file.
  var isUrgent = false
  /// Receives the CPU time of the child process, to charge it to the user.
  var charge: @Sendable (_ cpu_ns: UInt64) -> Void = { _ in }

  /// Runs the child process, and waits until the child has ended.
  ///
  /// If this method returns, the file is at `output`. If the method throws an error, there is no file.
  func run() throws {
    let partial = "\(output).\(getpid()).\(UInt32.random(in: .min ... .max)).partial"
    // The system call open reads the mode, because O_CREAT is set. The mode is the only variadic argument.
    let number = unsafe open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard number >= 0 else { throw SystemError("create '\(partial)'") }
    defer { _ = unsafe unlink(partial) }
    let file = Descriptor(owning: number)
    let child = HelperChild(
      program: program, arguments: ["unwind-tables", "--build-id", buildID] + (isUrgent ? ["--urgent"] : []),
      timeout_ms: timeout_ms, charge: charge)
    try child.run(input: image, output: file)
    // Write the contents to disk before the rename. Otherwise, the file could have its final name but no contents after
    // a power failure.
    guard fsync(number) == 0 else { throw SystemError("write '\(partial)'") }
    guard unsafe rename(partial, output) == 0 else { throw SystemError("rename '\(partial)'") }
  }
}

extension CacheName {
  static let unwindSuffix = ".csunw"

  /// Returns the path of the file with unwind tables, which is in the directory of the symbol cache.
  ///
  /// The number in the file name is the version of the format. Therefore, crashd does not open files of other versions.
  func unwindPath(in caches: String) -> String { "\(directory(in: caches))/\(buildID).1\(Self.unwindSuffix)" }
}
