import CLinux
import Glibc
import LinuxSystem

/// A run of `crash-analyse` or `crash-fetch`: risky work in a process of its own.
struct HelperChild {
  var program: String
  var arguments: [String]
  var timeout_ms: Int
  /// Gets the CPU time of the child, also of one that fails.
  var charge: @Sendable (_ cpu_ns: UInt64) -> Void = { _ in }

  /// The child failed; one line for people says why.
  struct Failure: Error, CustomStringConvertible {
    var description: String
    /// Whether a retry may succeed: it ran out of time, was killed, or could not write.
    var isPassing = false
    /// Its exit status, or 128 plus the signal that ended it; nil where crashd stopped it.
    var status: Int32?
  }

  private static let errorTextLimit = 512
  /// How long a killed child may take to end; one that waits for a dead disk takes longer.
  private static let end_ms: Int32 = 5_000
  /// EX_IOERR, which crash-analyse exits with.
  private static let inputOutputStatus: Int32 = 74

  /// Runs the child.
  ///
  /// It blocks until the child has ended, unless the kernel cannot end it.
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
    // The strings live until the end of this function, the child has its own copy; the list ends with nil.
    var pointers = unsafe ([program] + arguments).map { unsafe strdup($0) }
    unsafe pointers.append(nil)
    defer { unsafe pointers.forEach { unsafe free($0) } }
    let code = unsafe cd_spawn(program, &pointers, input.number, output.number, error.number, &pid)
    try SystemError.check(code, "start '\(program)'")
    return pid
  }

  /// Its exit status, after SIGKILL at the time-out.
  private func wait(for pid: Int32) throws -> Int32 {
    let pidfd: Descriptor
    do throws(SystemError) { pidfd = try Descriptor(ofProcess: pid) } catch {
      // Without a pidfd no wait has a time-out, so the child is killed.
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

  /// Waits for it on another thread, for as long as it takes.
  private static func reap(_ pid: Int32, _ pidfd: Descriptor) {
    do throws(SystemError) {
      try Thread.start(named: "reaper") {
        _ = isReadable(pidfd.number, timeout_ms: -1)
        var status: Int32 = 0
        // The caller has already got its error.
        var cpu_ns: UInt64 = 0
        _ = unsafe cd_child_status(pid, &status, &cpu_ns)
      }
    } catch {
      // Without a thread it stays a zombie until crashd ends.
    }
  }

  private static func firstLine(of pipe: Descriptor) -> String {
    var bytes = [UInt8](repeating: 0, count: errorTextLimit)
    // read writes at most as many bytes as the array has; the pipe does not block.
    let count = unsafe read(pipe.number, &bytes, bytes.count)
    let line = bytes.prefix(max(0, count)).prefix { $0 != UInt8(ascii: "\n") }
    // It may quote the file: nothing but printable characters goes to the log.
    return String(decoding: line.map { (0x20..<0x7f).contains($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
  }

  private static func describe(_ status: Int32, _ text: String) -> String {
    let end = status > 128 ? "it was ended by signal \(status - 128)" : "exit status \(status)"
    return text.isEmpty ? end : "\(text) (\(end))"
  }
}
