import CLinux
import Glibc
import LinuxSystem

/// Downloads the debug information of one build with `crash-fetch`, and builds its symbol cache with `crash-analyse`.
struct FetchJob: Sendable {
  /// The debuginfod servers and the program that queries them.
  struct Servers: Sendable {
    /// The path of `crash-fetch`.
    var program: String
    /// The debuginfod servers, in the order in which they are queried.
    var urls: [String]
  }

  var servers: Servers
  /// The path of `crash-analyse`.
  var analyseProgram: String
  var buildID: String
  /// The path of the new cache, which replaces the cache without line numbers.
  var output: String
  var limits: Limits

  /// Exit status 66 of `crash-fetch`: every server replied that it has no debug information for this build.
  private static let notThere: Int32 = 66

  /// Runs both children and waits for them.
  ///
  /// If this returns true, the new cache is at `output`.
  ///
  /// - Returns: Whether a server had the debug information.
  func run() throws -> Bool {
    let path = "\(output).\(getpid()).\(UInt32.random(in: .min ... .max)).partial"
    // The only variadic argument is the mode, which open reads because of O_CREAT.
    let writer = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard writer >= 0 else { throw SystemError("create '\(path)'") }
    let target = Descriptor(owning: writer)
    // Removes the name, so that the file disappears however this function ends.
    defer { _ = unsafe unlink(path) }
    let reader = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard reader >= 0 else { throw SystemError("open '\(path)'") }
    let file = Descriptor(owning: reader)
    _ = unsafe unlink(path)
    guard try fetch(into: target) else { return false }
    // The child checks the build id, because a server may send any file.
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
