import CLinux
import Glibc
import LinuxSystem

/// Runs the program `crash-analyse` or `crash-fetch` as a child process.
///
/// These programs process untrusted files and network input, so crashd runs them outside of its own process.
struct HelperChild {
  var program: String
  var arguments: [String]
  var timeout_ms: Int
  /// The function that receives the CPU time of the child after it ended, even if the child failed.
  var charge: @Sendable (_ cpu_ns: UInt64) -> Void = { _ in }

  /// A failure of the child, with a one-line reason.
  struct Failure: Error, CustomStringConvertible {
    var description: String
    /// Whether a later attempt of the same job can succeed.
    ///
    /// A later attempt can succeed if the child timed out, ended by SIGKILL, or reported an input or output error.
    var isPassing = false
    /// The exit status of the child, or 128 plus the number of the signal that ended the child.
    ///
    /// The value is nil if crashd itself ended the child.
    var status: Int32?
  }

  private static let errorTextLimit = 512
  /// The maximum time for which crashd waits until a killed child has ended.
  ///
  /// The child can need longer than this, for example if it waits for a failed disk.
  private static let end_ms: Int32 = 5_000
  /// The value of EX_IOERR, which crash-analyse returns as its exit status for input and output errors.
  private static let inputOutputStatus: Int32 = 74

  /// Runs the child process.
  ///
  /// Returns when the child has ended, or when a killed child has not ended in time.
  func run(input: Descriptor, output: Descriptor) throws {
    var (reader, writer): (Int32, Int32) = (-1, -1)
    try SystemError.check(unsafe cd_pipe_create(&reader, &writer), "make a pipe")
    let (errors, errorsForChild) = (Descriptor(owning: reader), Descriptor(owning: writer))
    let pid = try spawn(input, output, errorsForChild)
    let status = try wait(for: pid)
    guard status == 0 else {
      throw Failure(
        description: Self.describe(status, Self.firstLine(of: errors)),
        isPassing: status == Self.inputOutputStatus || status == 128 + SIGKILL, status: status)
    }
  }

  private func spawn(_ input: Descriptor, _ output: Descriptor, _ error: Descriptor) throws(SystemError) -> Int32 {
    var pid: Int32 = 0
    // The strings exist until this function returns, and the child receives its own copy of them. The array ends with
    // nil, as execve requires.
    var pointers = unsafe ([program] + arguments).map { unsafe strdup($0) }
    unsafe pointers.append(nil)
    defer { unsafe pointers.forEach { unsafe free($0) } }
    let code = unsafe cd_spawn(program, &pointers, input.number, output.number, error.number, &pid)
    try SystemError.check(code, "start '\(program)'")
    return pid
  }

  /// Waits for the child, and returns its exit status.
  ///
  /// After the time-out, the method kills the child with SIGKILL.
  private func wait(for pid: Int32) throws -> Int32 {
    let pidfd: Descriptor
    do throws(SystemError) { pidfd = try Descriptor(ofProcess: pid) } catch {
      // Without a pidfd, crashd cannot wait with a time-out, so it kills the child immediately.
      kill(pid, SIGKILL)
      _ = waitpid(pid, nil, 0)
      throw error
    }
    let isTimely = isReadable(pidfd.number, timeout_ms: Int32(clamping: timeout_ms))
    if !isTimely {
      kill(pid, SIGKILL)
      guard isReadable(pidfd.number, timeout_ms: Self.end_ms) else {
        Self.reap(pid, pidfd)
        throw Failure(description: "it took longer than \(timeout_ms) ms, and the kernel cannot end it yet")
      }
    }
    var status: Int32 = 0
    var cpu_ns: UInt64 = 0
    try SystemError.check(unsafe cd_child_status(pid, &status, &cpu_ns), "wait for process \(pid)")
    charge(cpu_ns)
    guard isTimely else { throw Failure(description: "it took longer than \(timeout_ms) ms", isPassing: true) }
    return status
  }

  /// Waits on another thread without a time-out until the child ends, so that the child does not stay a zombie.
  private static func reap(_ pid: Int32, _ pidfd: Descriptor) {
    do throws(SystemError) {
      try Thread.start(named: "reaper") {
        _ = isReadable(pidfd.number, timeout_ms: -1)
        var status: Int32 = 0
        // The exit status and the CPU time are ignored, because the caller already received an error.
        var cpu_ns: UInt64 = 0
        _ = unsafe cd_child_status(pid, &status, &cpu_ns)
      }
    } catch {
      // If the thread cannot be started, the child stays a zombie until crashd ends.
    }
  }

  private static func firstLine(of pipe: Descriptor) -> String {
    var bytes = [UInt8](repeating: 0, count: errorTextLimit)
    // read writes at most `bytes.count` bytes, which is the size of the array. The pipe is non-blocking, so read
    // returns immediately.
    let count = unsafe read(pipe.number, &bytes, bytes.count)
    let line = bytes.prefix(max(0, count)).prefix { $0 != UInt8(ascii: "\n") }
    // The line can quote bytes of an untrusted file, so the function replaces non-printable characters.
    return String(decoding: line.map { (0x20..<0x7f).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
  }

  private static func describe(_ status: Int32, _ text: String) -> String {
    let end = status > 128 ? "it was ended by signal \(status - 128)" : "exit status \(status)"
    return text.isEmpty ? end : "\(text) (\(end))"
  }
}
