import CConfine
import CLibdw
import Glibc

/// Implements `crash-analyse build-cache`: reads the image on stdin, and writes its symbol cache to stdout.
///
/// If the cache cannot be built, writes one line with the reason to stderr.
public enum BuildCacheJob: Sendable {
  /// The exit statuses, from sysexits.h.
  public enum Status: Int32, Sendable {
    /// The cache was written.
    case good = 0
    /// The command line is wrong.
    case usage = 64
    /// The image is unusable, and another attempt would fail in the same way.
    case badImage = 65
    /// An operation on this machine failed, and another attempt can succeed.
    case inputOutput = 74
  }

  /// The maximum number of addresses.
  ///
  /// The maximum exceeds the number of frames of all threads in a record.
  private static let addressLimit = 1 << 16

  /// Parses link addresses, which are hexadecimal digits separated by commas.
  ///
  /// Returns nil for invalid text, and for too many addresses.
  public static func addresses(of text: String) -> [UInt64]? {
    let parts = text.split(separator: ",", omittingEmptySubsequences: false)
    let addresses = parts.compactMap { UInt64($0, radix: 16) }
    return addresses.count == parts.count && addresses.count <= addressLimit ? addresses : nil
  }

  /// Confines the process, then builds the cache of the whole image, or only the part that the addresses need.
  public static func run(buildID: String, addresses: [UInt64]? = nil) -> Status {
    // Lower the process priority for the cache of a whole image, because no crash report waits for this cache. The
    // server that uses the image needs the processor more urgently.
    if addresses == nil { _ = nice(10) }
    let code = cs_confine_image(STDIN_FILENO)
    guard code == 0 else { return fail(.inputOutput, "cannot confine itself: \(reason(code))") }
    do throws(SymbolCacheBuilder.Failure) {
      try SymbolCacheBuilder.build(
        image: STDIN_FILENO, buildID: buildID, addresses: addresses, output: STDOUT_FILENO)
      return .good
    } catch {
      return fail(error)
    }
  }

  /// Writes the reason why there is no cache to stderr, and returns the exit status.
  static func fail(_ error: SymbolCacheBuilder.Failure) -> Status {
    switch error {
    case .badImage(let problem): fail(.badImage, problem)
    case .wrongBuildID(let expected, let found):
      fail(.badImage, "the image has build id \(found.isEmpty ? "(none)" : found), not \(expected)")
    case .write(let code): fail(.inputOutput, "cannot write the cache: \(reason(code))")
    }
  }

  /// Writes one line to stderr, and returns the exit status that the caller passes.
  public static func fail(_ status: Status, _ message: String) -> Status {
    let line = Array("crash-analyse: \(message)\n".utf8)
    // Ignore a failed write to stderr, because the exit status also reports the failure. Invariant: write reads as many
    // bytes as the array has.
    _ = unsafe line.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
    return status
  }

  private static func reason(_ code: Int32) -> String {
    // Invariant: strerror returns a string of the C library for every number.
    unsafe String(cString: strerror(code))
  }
}
