internal import CLinux
import Glibc
internal import LinuxSystem

/// Starts real processes and waits for real signals.
///
/// Tests of `Supervisor` use another `SupervisorSystem`.
struct SupervisedProgram: SupervisorSystem {
  /// The duration of one wait for an event if the caller gives no limit.
  ///
  /// After this time without an event, the wait begins again.
  private static let longestWait = Duration.seconds(3_600)

  private let file: String
  private let arguments: [String]
  private var options: ChildProcess.Options
  private let signals: SignalSet

  /// The sockets that the program inherits.
  var sockets: [ListeningSocket] {
    get { options.sockets }
    set { options.sockets = newValue }
  }

  /// Opens missing standard descriptors, blocks the signals that the supervisor handles, and makes this process the
  /// parent of orphans.
  ///
  /// Call this initializer before the process opens a descriptor or writes a message.
  ///
  /// - Throws: `SystemError`.
  init(_ file: String, _ arguments: [String], environment: [String: String]) throws(SystemError) {
    self.file = file
    self.arguments = arguments
    try Self.openStandardDescriptors()
    // Do not block a signal that this process already ignores: it must stay ignored, but a blocked signal would wake
    // the supervisor. For example, nohup ignores SIGHUP, and a shell without job control ignores SIGINT and SIGQUIT for
    // a background command.
    let stops = [SIGHUP, SIGINT, SIGQUIT].filter { !Self.ignores($0) }
    // SIGPIPE is blocked, because a closed standard error must not end the supervisor.
    signals = SignalSet([SIGTERM, SIGUSR1, SIGUSR2, SIGPIPE, SIGCHLD] + stops)
    options = .init(endsWithParent: true, environment: environment, signalMask: signals.block())
    // With an inherited SIG_IGN for SIGCHLD, the kernel would reap the children, and their exit statuses would be
    // unknown.
    signal(SIGCHLD, SIG_DFL)
    try SystemError.check(cs_process_adopt_orphans(), "adopt orphans")
  }

  func now() -> ContinuousClock.Instant { .now }

  func start() throws(ChildProcess.StartError) -> pid_t { try ChildProcess(file, arguments, options).pid }

  func send(_ signal: Int32, to pid: pid_t) { kill(pid, signal) }

  func say(_ message: String) { Output.complain(message) }

  func next(until end: ContinuousClock.Instant?) -> SupervisorEvent {
    while true {
      // Reap before waiting for a signal, because one SIGCHLD can stand for several ended children.
      if let ended = Self.reap() { return .ended(ended.pid, ended.end) }
      let left = end.map { ContinuousClock.now.duration(to: $0) } ?? Self.longestWait
      switch signals.next(within: left) {
      case nil where end != nil: return .timeout
      case nil, (SIGCHLD, _)?, (SIGPIPE, _)?: continue
      case (let signal, let isSent)?: return .signal(signal, isSent: isSent)
      }
    }
  }

  /// Opens `/dev/null` for each of the descriptors 0 to 2 that this process did not inherit.
  ///
  /// A socket or a file would otherwise become the standard error, to which crashctl and the program write messages.
  private static func openStandardDescriptors() throws(SystemError) {
    // CLinux reserves the missing numbers before main(), with close-on-exec. fcntl() therefore returns 0 only for an
    // inherited descriptor.
    for number in STDIN_FILENO...STDERR_FILENO where fcntl(number, F_GETFD) != 0 {
      // Invariant: open reads the path only during the call.
      let nothing = unsafe open("/dev/null", O_RDWR)
      guard nothing >= 0, dup2(nothing, number) == number else { throw SystemError("open '/dev/null'") }
      if nothing != number { close(nothing) }
    }
  }

  /// Returns whether this process ignores the signal.
  private static func ignores(_ signal: Int32) -> Bool {
    var action = sigaction()
    // Invariant: sigaction fills in the structure during the call. Both handlers are pointers, and a pointer has the
    // size of an Int. SIG_IGN is the number 1, which is not a function, so only numbers are compared.
    return unsafe sigaction(signal, nil, &action) == 0
      && unsafeBitCast(action.__sigaction_handler.sa_handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
  }

  /// Reaps one process that has ended: the program, or an orphan.
  private static func reap() -> (pid: pid_t, end: ChildProcess.End)? {
    var status: Int32 = 0
    // Invariant: waitpid uses the pointer only during the call. With WNOHANG, the call returns at once.
    let pid = unsafe waitpid(-1, &status, WNOHANG)
    return pid > 0 ? (pid, ChildProcess.End(waitStatus: status)) : nil
  }
}
