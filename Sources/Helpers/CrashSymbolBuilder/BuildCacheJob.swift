import CConfine
import CLibdw
import Glibc

/// `crash-analyse build-cache`: the image on stdin, its cache on stdout, one line on stderr when there is none.
public enum BuildCacheJob: Sendable {
  /// The exit statuses, from sysexits.h.
  public enum Status: Int32, Sendable {
    /// The cache is written.
    case good = 0
    /// The command line is wrong.
    case usage = 64
    /// The image is unusable; another attempt would end the same way.
    case badImage = 65
    /// Something of this machine failed; another attempt may succeed.
    case inputOutput = 74
  }

  /// Above the number of frames in all threads of a record.
  private static let addressLimit = 1 << 16

  /// Link addresses from hexadecimal digits, separated by commas; nil for invalid text, or too many.
  public static func addresses(of text: String) -> [UInt64]? {
    let parts = text.split(separator: ",", omittingEmptySubsequences: false)
    let addresses = parts.compactMap { UInt64($0, radix: 16) }
    return addresses.count == parts.count && addresses.count <= addressLimit ? addresses : nil
  }

  /// Confines the process, then builds the cache: all of the image, or what these addresses need.
  public static func run(buildID: String, addresses: [UInt64]? = nil) -> Status {
    // No crash waits for a whole image; the server that uses the image needs the processors more.
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

  /// Reports why there is no cache, and returns the status.
  static func fail(_ error: SymbolCacheBuilder.Failure) -> Status {
    switch error {
    case .badImage(let problem): fail(.badImage, problem)
    case .wrongBuildID(let expected, let found):
      fail(.badImage, "the image has build id \(found.isEmpty ? "(none)" : found), not \(expected)")
    case .write(let code): fail(.inputOutput, "cannot write the cache: \(reason(code))")
    }
  }

  /// Writes the line for stderr, and returns the status.
  public static func fail(_ status: Status, _ message: String) -> Status {
    let line = Array("crash-analyse: \(message)\n".utf8)
    // The array is the buffer. A failed write to stderr is ignored: the status still reports the failure.
    _ = unsafe line.withUnsafeBytes { unsafe write(STDERR_FILENO, $0.baseAddress, $0.count) }
    return status
  }

  private static func reason(_ code: Int32) -> String {
    // strerror answers for every number, with a string of the C library.
    unsafe String(cString: strerror(code))
  }
}
