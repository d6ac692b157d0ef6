import CConfine
import CrashSymbols
import Glibc

/// `crash-analyse check-names`: linkage names on stdin, each ended by a zero; on stdout a byte for each, 1 where its text is
/// short enough to be written out.
///
/// To write out a name of 250 bytes may take terabytes. Whoever wrote the symbol cache may have lied about its names, so
/// crashd has each looked at here before it writes one out. A name that ends the process leaves no byte for itself and for
/// those after it.
public enum CheckNamesJob: Sendable {
  /// More than the frames of a report have.
  public static let limitBytes = 8 << 20
  /// What an honest report's names take is a hundredth.
  private static let processorTime_s: UInt = 2

  /// Confines the process, then does the job.
  public static func run() -> BuildCacheJob.Status {
    var limit = rlimit(rlim_cur: processorTime_s, rlim_max: processorTime_s)
    // setrlimit reads one struct rlimit.
    guard unsafe setrlimit(__rlimit_resource_t(RLIMIT_CPU.rawValue), &limit) == 0, cs_confine() == 0 else {
      return BuildCacheJob.fail(.inputOutput, "cannot confine itself: errno \(errno)")
    }
    var bytes = [UInt8](repeating: 0, count: limitBytes)
    var count = 0
    while count < limitBytes {
      // read writes at most as many bytes as the slice has.
      let got = unsafe bytes[count...].withUnsafeMutableBytes { rest in
        unsafe read(STDIN_FILENO, rest.baseAddress, rest.count)
      }
      if got < 0 && errno == EINTR { continue }
      guard got > 0 else { break }
      count += got
    }
    // What stands after the last zero is no name.
    for name in bytes[..<count].split(separator: 0, omittingEmptySubsequences: false).dropLast() {
      var verdict: UInt8 = Demangler.isReasonable(String(decoding: name, as: UTF8.self)) ? 1 : 0
      // At once: the next name may end the process. write reads one byte.
      guard unsafe write(STDOUT_FILENO, &verdict, 1) == 1 else {
        return BuildCacheJob.fail(.inputOutput, "cannot write: errno \(errno)")
      }
    }
    return .good
  }
}
