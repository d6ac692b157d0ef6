import CConfine
import CrashSymbolBuilder
import CrashSymbols
import Glibc

/// Implements `crash-analyse unwind-tables`: reads the image on stdin, and writes its unwind tables to stdout, in the
/// form in which crashd stores them.
///
/// If the job fails, it writes one line to stderr.
enum UnwindTablesJob: Sendable {
  /// Confines the process, then extracts the tables.
  ///
  /// The parameter `buildID` is the required build id, in lower-case hexadecimal digits. An empty `buildID` accepts any
  /// image. The parameter `isUrgent` means that a crash report waits for the tables.
  static func run(buildID: String, isUrgent: Bool = false) -> BuildCacheJob.Status {
    // Lower the priority if no crash report waits, because the server that has just started needs the processor.
    if !isUrgent { _ = nice(10) }
    let code = cs_confine_image(STDIN_FILENO)
    guard code == 0 else { return BuildCacheJob.fail(.inputOutput, "cannot confine itself: errno \(code)") }
    do throws(UnwindSections.Failure) {
      let sections = try UnwindSections(image: STDIN_FILENO)
      let found = BuildID.text(sections.buildID)
      guard buildID.isEmpty || buildID == found else {
        return BuildCacheJob.fail(
          .badImage, "the image has build id \(found.isEmpty ? "(none)" : found), not \(buildID)")
      }
      let file = sections.file
      guard file.count <= UnwindTablesHeader.fileLimitBytes else {
        return BuildCacheJob.fail(.badImage, "the image's unwind tables are too large")
      }
      let written = Output.write(file, to: STDOUT_FILENO)
      return written == 0 ? .good : BuildCacheJob.fail(.inputOutput, "cannot write the tables: errno \(written)")
    } catch {
      return BuildCacheJob.fail(.badImage, error.problem)
    }
  }
}

/// Writes bytes to a descriptor.
enum Output {
  /// Writes all bytes.
  ///
  /// Returns 0, or the errno.
  static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
    var rest = bytes[...]
    while !rest.isEmpty {
      // Invariant: write reads as many bytes as the slice has.
      let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return count < 0 ? errno : EIO }
      rest = rest.dropFirst(count)
    }
    return 0
  }
}
