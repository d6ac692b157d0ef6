import CLinux
import Glibc
import LinuxSystem

/// Downloads the debug information of one build by `crash-fetch`, and builds its symbol cache by `crash-analyse`.
struct FetchJob: Sendable {
  /// The servers, and the program that sends requests to them.
  struct Servers: Sendable {
    /// `crash-fetch`.
    var program: String
    /// The debuginfod servers, in the order in which they are asked.
    var urls: [String]
  }

  var servers: Servers
  /// `crash-analyse`.
  var analyseProgram: String
  var buildID: String
  /// The path of the cache, which replaces the one without lines.
  var output: String
  var limits: Limits

  /// Status 66 of `crash-fetch`: every server replied that it has no debug information of this build.
  private static let notThere: Int32 = 66

  /// Waits for both children.
  ///
  /// The new cache is at `output` when this returns true.
  ///
  /// - Returns: Whether a server had it.
  func run() throws -> Bool {
    let path = "\(output).\(getpid()).\(UInt32.random(in: .min ... .max)).partial"
    // No variadic argument but the mode, which open reads as one.
    let writer = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard writer >= 0 else { throw SystemError("create '\(path)'") }
    let target = Descriptor(owning: writer)
    // The file needs no name, so that it disappears in any case.
    defer { _ = unsafe unlink(path) }
    let reader = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard reader >= 0 else { throw SystemError("open '\(path)'") }
    let file = Descriptor(owning: reader)
    _ = unsafe unlink(path)
    guard try fetch(into: target) else { return false }
    // The child checks the build id: a server may send anything.
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
