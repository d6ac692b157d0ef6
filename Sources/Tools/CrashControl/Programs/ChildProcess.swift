internal import CLinux
import Glibc
import LinuxSystem

/// A child process of crashctl.
///
/// The owner must reap the process with `endIfOver`, `wait` or `stop`.
struct ChildProcess {
  /// The exit status of a process.
  enum End: Equatable, Sendable {
    case exited(Int32)
    case signaled(Int32)

    /// Ends this process with the exit status of the child, or by the signal that ended the child.
    func endAlike() -> Never {
      switch self {
      case .exited(let code): exit(code)
      case .signaled(let signal): cs_process_die_by(signal)
      }
    }

    init(waitStatus status: Int32) {
      // Decode the status as the macros in <sys/wait.h> do: the low seven bits are the signal, and bits 8 to 15 are the
      // exit code.
      let signal = status & 0x7f
      self = signal == 0 ? .exited((status >> 8) & 0xff) : .signaled(signal)
    }
  }

  struct StartError: Error, Equatable {
    var file: String
    var errno: Int32

    /// The failure of a verb such as `run`, if its program cannot be started.
    ///
    /// The exit codes are those of a shell.
    var failure: Failure {
      let status: Int32 = errno == ENOENT ? 127 : 126
      return Failure(status: status, "cannot run '\(file)' (\(SystemError.text(errno)))")
    }
  }

  struct Options {
    /// The descriptors that become the child's descriptors 0, 1 and 2.
    ///
    /// For each element that is nil, the child inherits crashctl's descriptor.
    var standardInput: Int32?
    var standardOutput: Int32?
    var standardError: Int32?
    /// Whether the child gets its own process group, so that the terminal's signals do not reach it, and gets SIGTERM
    /// from the kernel when crashctl ends.
    var isServant = false
    /// Whether the kernel sends SIGTERM to the child when crashctl ends.
    var endsWithParent = false
    var environment: [String: String]
    var signalMask = SignalSet()
    /// The listening sockets that the child gets by the protocol of sd_listen_fds(3).
    var sockets: [ListeningSocket] = []
  }

  let pid: pid_t
  private let hasGroup: Bool

  /// Starts a program; a name without a slash is looked up in PATH.
  init(_ file: String, _ arguments: [String], _ options: Options) throws(StartError) {
    let variables = options.environment.merging(ListeningSocket.variables(of: options.sockets)) { $1 }
    let environment = variables.map { "\($0.key)=\($0.value)" }
    let sockets = options.sockets.map(\.descriptor.number)
    var pid: pid_t = 0
    // Invariant: the mask and the array outlive the call, and cs_process_start does not keep the pointers.
    let error = unsafe withUnsafePointer(to: options.signalMask.value) { mask in
      unsafe sockets.withUnsafeBufferPointer { numbers in
        let settings = unsafe cs_process_options(
          stdin_fd: options.standardInput ?? -1, stdout_fd: options.standardOutput ?? -1,
          stderr_fd: options.standardError ?? -1, own_group: options.isServant,
          death_signal: options.isServant || options.endsWithParent ? SIGTERM : 0, signal_mask: mask,
          sockets: numbers.baseAddress, socket_count: Int32(numbers.count))
        return unsafe withStrings([file] + arguments) { argumentPointers in
          unsafe withStrings(environment) { environmentPointers in
            unsafe withUnsafePointer(to: settings) {
              unsafe cs_process_start(file, argumentPointers, environmentPointers, $0, &pid)
            }
          }
        }
      }
    }
    guard error == 0 else { throw StartError(file: file, errno: error) }
    self.pid = pid
    hasGroup = options.isServant
  }

  /// Returns the exit status, or nil while the process runs.
  func endIfOver() -> End? {
    var status: Int32 = 0
    while true {
      // Invariant: waitpid uses the pointer only during the call.
      let result = unsafe waitpid(pid, &status, WNOHANG)
      if result == pid { return End(waitStatus: status) }
      if result == 0 || errno != EINTR { return nil }
    }
  }

  /// Waits for the end of the process, and reaps it.
  ///
  /// Returns nil after a timeout.
  func wait(timeout_ms: Int32) -> End? { ends(within: timeout_ms) ? endIfOver() : nil }

  private func ends(within timeout_ms: Int32) -> Bool {
    // A pidfd that cannot be opened means that the process has ended.
    guard let end = try? Descriptor(ofProcess: pid) else { return true }
    return isReadable(end.number, timeout_ms: timeout_ms)
  }

  /// Terminates the process with SIGTERM, kills it if it does not end, and reaps it.
  ///
  /// If the child has its own process group (`isServant`), the whole group is killed.
  @discardableResult
  func stop() -> End? {
    kill(pid, SIGTERM)
    if !ends(within: 10_000) {
      kill(pid, SIGKILL)
      _ = ends(within: 10_000)
    }
    // Kill the group before reaping its leader. After the leader is reaped, the kernel can reuse the number of the
    // process group.
    if hasGroup { kill(-pid, SIGKILL) }
    return endIfOver()
  }
}

/// Calls `body` with an array of C strings that ends with a null pointer.
private func withStrings<Result>(
  _ strings: [String], _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
  // Invariant: each copy is freed below, after the last use of the array.
  let copies = unsafe strings.map { unsafe strdup($0) } + [nil]
  defer { unsafe copies.forEach { unsafe free($0) } }
  return unsafe copies.withUnsafeBufferPointer { buffer in
    guard let base = buffer.baseAddress else { preconditionFailure("BUG: an array with a last element is empty") }
    return unsafe body(base)
  }
}
