import CConfine
import CrashSymbols
import Glibc

/// Implements `crash-analyse check-names`: reads linkage names on stdin, and checks the length of each demangled name.
///
/// A NUL byte ends each name. The job writes one byte per name to stdout: 1 if the demangled name is short enough, and
/// 2 if it is too long. The names of a symbol cache are untrusted, and demangling a name of 250 bytes can allocate
/// terabytes of memory. crashd therefore runs this sandboxed job before it demangles names itself. If demangling a name
/// ends this process, the output lacks the bytes for this name and all later names.
public enum CheckNamesJob: Sendable {
  /// The maximum size of the input.
  ///
  /// The maximum exceeds the total size of the names of all frames of a report.
  public static let limitBytes = 8 << 20
  /// The limit of the CPU time.
  ///
  /// The names of a genuine report take a hundredth of this time.
  private static let processorTime_s: UInt = 2

  /// Confines the process, then checks the names.
  public static func run() -> BuildCacheJob.Status {
    // At the lower limit, the kernel sends SIGXCPU, which crashd can distinguish from a lack of memory.
    var limit = rlimit(rlim_cur: processorTime_s, rlim_max: processorTime_s + 1)
    // Invariant: setrlimit reads the structure only during the call.
    guard unsafe setrlimit(__rlimit_resource_t(RLIMIT_CPU.rawValue), &limit) == 0, cs_confine() == 0 else {
      return BuildCacheJob.fail(.inputOutput, "cannot confine itself: errno \(errno)")
    }
    var bytes: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 65_536)
    while bytes.count < limitBytes {
      let room = min(part.count, limitBytes - bytes.count)
      // Invariant: read writes at most as many bytes as the array has.
      let got = unsafe part.withUnsafeMutableBytes { unsafe read(STDIN_FILENO, $0.baseAddress, room) }
      if got < 0 && errno == EINTR { continue }
      guard got > 0 else { break }
      bytes += part[..<got]
    }
    // Ignore the bytes after the last NUL byte, which are not a complete name.
    for name in bytes.split(separator: 0, omittingEmptySubsequences: false).dropLast() {
      var verdict: UInt8 = Demangler.isReasonable(String(decoding: name, as: UTF8.self)) ? 1 : 2
      // Write the verdict immediately, because demangling the next name can end the process. Invariant: write reads one
      // byte.
      guard unsafe write(STDOUT_FILENO, &verdict, 1) == 1 else {
        return BuildCacheJob.fail(.inputOutput, "cannot write: errno \(errno)")
      }
    }
    return .good
  }
}
