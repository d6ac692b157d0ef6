import Dispatch
import Glibc
import Synchronization
import TestKit

/// A child process of the test.
///
/// The test always reaps the child, and kills it if it runs longer than its limit.
final class ChildProcess: Sendable {
  /// The size limit of the child's core file, for `ulimit -c`.
  enum CoreLimit: String {
    case none = "0"
    case unlimited = "unlimited"
  }

  /// The settings for starting a child.
  struct Options {
    var environment: [String: String] = [:]
    var directory = "/"
    var coreLimit = CoreLimit.none
    /// The child's limit of open descriptors (RLIMIT_NOFILE).
    ///
    /// If the value is nil, the child inherits the test's limit.
    var descriptorLimit: Int?
    /// Standard input.
    ///
    /// The value nil means the null device.
    var input: Int32?
    /// Standard output.
    ///
    /// The value nil means the null device.
    var output: Int32?
    /// The child appends its standard error to this file.
    var errorPath = "/dev/null"
  }

  let pid: pid_t
  /// The raw wait status.
  ///
  /// The value is nil until the child is reaped.
  private let status = Mutex<Int32?>(nil)

  private init(pid: pid_t) { self.pid = pid }

  /// Starts the program at a path.
  static func start(_ path: String, _ arguments: [String] = [], _ options: Options = Options()) throws -> ChildProcess {
    // posix_spawn cannot set resource limits. Therefore a shell sets them, and then executes the program.
    let descriptors = options.descriptorLimit.map { "ulimit -n \($0) && " } ?? ""
    let script = descriptors + #"ulimit -c "$1" && cd "$2" && shift 2 && exec "$@""#
    let words = ["/bin/sh", "-c", script, "sh", options.coreLimit.rawValue, options.directory, path] + arguments
    var environment = ["SWIFT_BACKTRACE": "enable=no"]
    for name in ["PATH", "HOME", "LD_LIBRARY_PATH", "XDG_RUNTIME_DIR"] {
      environment[name] = Environment.value(of: name)
    }
    environment.merge(options.environment) { $1 }

    var actions = unsafe posix_spawn_file_actions_t()
    unsafe posix_spawn_file_actions_init(&actions)
    defer { unsafe posix_spawn_file_actions_destroy(&actions) }
    for (target, source) in [(STDIN_FILENO, options.input), (STDOUT_FILENO, options.output)] {
      if let source {
        unsafe posix_spawn_file_actions_adddup2(&actions, source, target)
      } else {
        unsafe posix_spawn_file_actions_addopen(&actions, target, "/dev/null", O_RDWR, 0)
      }
    }
    unsafe posix_spawn_file_actions_addopen(
      &actions, STDERR_FILENO, options.errorPath, O_WRONLY | O_CREAT | O_APPEND, 0o600)

    // Gives the child an empty signal mask, because it would inherit that of the test's thread, which can block
    // signals.
    var attributes = posix_spawnattr_t()
    unsafe posix_spawnattr_init(&attributes)
    defer { unsafe posix_spawnattr_destroy(&attributes) }
    var (none, all) = (sigset_t(), sigset_t())
    unsafe sigemptyset(&none)
    unsafe sigfillset(&all)
    unsafe posix_spawnattr_setsigmask(&attributes, &none)
    unsafe posix_spawnattr_setsigdefault(&attributes, &all)
    unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

    var pid: pid_t = 0
    // Invariant: each array of C strings ends with nil, and stays valid until it is freed after the call.
    var argumentVector = unsafe words.map { unsafe strdup($0) } + [nil]
    var environmentVector = unsafe environment.map { unsafe strdup("\($0)=\($1)") } + [nil]
    defer { unsafe (argumentVector + environmentVector).forEach { unsafe free($0) } }
    let error = unsafe posix_spawn(&pid, "/bin/sh", &actions, &attributes, &argumentVector, &environmentVector)
    guard error == 0 else { throw SystemError("posix_spawn '\(path)'", error) }
    return ChildProcess(pid: pid)
  }

  /// Sends a signal, unless the child has been reaped.
  func signal(_ number: Int32) {
    status.withLock { status in
      if status == nil { kill(pid, number) }
    }
  }

  /// Whether the child has ended.
  ///
  /// It can still be a zombie.
  var hasEnded: Bool {
    status.withLock { status in
      if status != nil { return true }
      var information = unsafe siginfo_t()
      // waitid writes one siginfo_t. With WNOHANG, the siginfo_t stays zero while the child runs.
      return unsafe waitid(P_PID, id_t(pid), &information, WEXITED | WNOHANG | WNOWAIT) == 0
        && information.si_signo == SIGCHLD
    }
  }

  /// Waits until the child has ended and reaps it.
  ///
  /// Kills the child and throws after `slices` time slices (of a second each), or when `isHopeless`, which is called in
  /// each slice, returns true.
  @discardableResult
  func wait(
    slices: Int = Patience.slices, isHopeless: @escaping @Sendable () -> Bool = { false }
  ) async throws -> ExitStatus {
    let end = DispatchSemaphore(value: 0)
    async let reaped = blocking {
      defer { end.signal() }
      return try self.reap()
    }
    do {
      try await blocking {
        try Patience.wait(for: "process \(self.pid) did not end", slices: slices) { slice -> Void? in
          if end.wait(timeout: .now() + .seconds(Int(slice.components.seconds))) == .success { return () }
          if isHopeless() { throw SystemError("process \(self.pid) waits for what does not come", ETIMEDOUT) }
          return nil
        }
      }
    } catch {
      signal(SIGKILL)
      _ = try await reaped
      throw error
    }
    return try await reaped
  }

  /// Runs a program until it ends.
  ///
  /// Throws an error with the program's standard error if the exit status is not 0.
  static func run(_ program: String, _ arguments: [String], in directory: TestDirectory) async throws {
    let errorPath = directory.path + "/error"
    let process = try start(program, arguments, Options(directory: directory.path, errorPath: errorPath))
    let status = try await process.wait()
    if status.code != 0 { throw SystemError("\(program): \(status): \(try contents(of: errorPath))", 0) }
  }

  private func reap() throws -> ExitStatus {
    // First waits without reaping (WNOWAIT), because the kernel does not reuse the pid of a zombie. Then reaps the
    // child under the lock that `signal` also takes, so that `signal` cannot reach another process that has got the
    // pid.
    var information = unsafe siginfo_t()
    while unsafe waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) != 0 {
      guard errno == EINTR else { throw SystemError("waitid", errno) }
    }
    return try status.withLock { status in
      if let status { return ExitStatus(raw: status) }
      var raw: Int32 = 0
      guard unsafe waitpid(pid, &raw, 0) == pid else { throw SystemError("waitpid", errno) }
      status = raw
      return ExitStatus(raw: raw)
    }
  }
}

/// The exit status of a process, as wait(2) reports it.
struct ExitStatus: Equatable, CustomStringConvertible {
  var raw: Int32

  /// The signal that ended the process.
  ///
  /// The value is 0 if the process exited.
  var signal: Int32 { raw & 0x7f }
  /// The exit code.
  ///
  /// The value is nil if a signal ended the process.
  var code: Int32? { signal == 0 ? (raw >> 8) & 0xff : nil }
  /// Whether the kernel wrote a core file.
  var dumpedCore: Bool { raw & 0x80 != 0 }

  var description: String {
    if let code { return "exit \(code)" }
    return "signal \(signal)" + (dumpedCore ? " (core dumped)" : "")
  }
}
