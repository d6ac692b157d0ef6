import CLinux
import Glibc
import LinuxSystem

/// Downloads the debug information of one build with `crash-fetch`, and builds its symbol cache with `crash-analyse`.
struct FetchJob: Sendable {
  /// The debuginfod servers, and the program that queries them.
  struct Servers: Sendable {
    /// The path of `crash-fetch`.
    var program: String
    /// The URLs of the debuginfod servers, in the order in which they are queried.
    var urls: [String]
  }

  var servers: Servers
  /// The path of `crash-analyse`.
  var analyseProgram: String
  var buildID: String
  /// The path at which the new cache is written.
  ///
  /// The new cache replaces the existing cache, which has no line numbers.
  var output: String
  var limits: Limits

  /// The exit status 66 of `crash-fetch`.
  ///
  /// The status means that every server replied that it does not have the debug information of the requested build.
  private static let notThere: Int32 = 66

  /// Runs `crash-fetch` and then `crash-analyse`, and waits for both programs.
  ///
  /// If the result is true, the new cache is at `output`.
  ///
  /// - Returns: Whether one of the servers had the debug information.
  func run() throws -> Bool {
    let path = "\(output).\(getpid()).\(UInt32.random(in: .min ... .max)).partial"
    // The system call open reads the mode, because O_CREAT is set. The mode is the only variadic argument.
    let writer = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard writer >= 0 else { throw SystemError("create '\(path)'") }
    let target = Descriptor(owning: writer)
    // Remove the name of the file, so that the file is deleted even if this function throws. The open descriptor can
    // still be used.
    defer { _ = unsafe unlink(path) }
    let reader = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard reader >= 0 else { throw SystemError("open '\(path)'") }
    let file = Descriptor(owning: reader)
    _ = unsafe unlink(path)
    guard try fetch(into: target) else { return false }
    // `crash-analyse` checks the build ID of the file, because a server can send any file.
    try SymbolJob(
      program: analyseProgram, image: file, buildID: buildID, output: output, timeout_ms: limits.symbolJob_ms
    ).replace()
    return true
  }

  private func fetch(into file: Descriptor) throws -> Bool {
    let number = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { throw SystemError("open '/dev/null'") }
    let child = HelperChild(
      program: servers.program,
      arguments: [
        "--build-id", buildID, "--limit-bytes", "\(limits.fetchBytes)", "--timeout-ms", "\(limits.fetch_ms)",
      ] + servers.urls, timeout_ms: limits.fetch_ms * servers.urls.count + limits.fetchStart_ms)
    do {
      try child.run(input: Descriptor(owning: number), output: file)
      return true
    } catch let error as HelperChild.Failure where error.status == Self.notThere {
      return false
    }
  }
}
