import CConfine
import CrashSymbolBuilder
import CrashSymbols
import Glibc

/// `crash-analyse unwind-tables`: the image on stdin, its unwind file on stdout, one line on stderr when there is none.
enum UnwindTablesJob: Sendable {
  /// Confines the process, then does the job.
  ///
  /// `buildID` is what the image must have, in lower-case hexadecimal digits; empty accepts any image. `isUrgent`: a crash
  /// waits for them.
  static func run(buildID: String, isUrgent: Bool = false) -> BuildCacheJob.Status {
    // The server that has just started needs the processors more.
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

/// Writing, and the checksum of what is written.
enum Output {
  /// 0, or the errno.
  static func write(_ bytes: [UInt8], to descriptor: Int32) -> Int32 {
    var rest = bytes[...]
    while !rest.isEmpty {
      // write reads as many bytes as the slice has.
      let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return count < 0 ? errno : EIO }
      rest = rest.dropFirst(count)
    }
    return 0
  }
}
