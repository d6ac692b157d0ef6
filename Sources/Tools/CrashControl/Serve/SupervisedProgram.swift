internal import CLinux
import Glibc
internal import LinuxSystem

/// The real processes and signals of a supervisor.
struct SupervisedProgram: SupervisorSystem {
  /// The longest wait without a limit, which then begins again.
  private static let longestWait = Duration.seconds(3_600)

  private let file: String
  private let arguments: [String]
  private let options: ChildProcess.Options
  private let signals: SignalSet

  /// Blocks the signals that the supervisor handles, and makes this process the parent of orphans.
  ///
  /// - Throws: `SystemError`.
  init(
    _ file: String, _ arguments: [String], sockets: [ListeningSocket], environment: [String: String]
  ) throws(SystemError) {
    self.file = file
    self.arguments = arguments
    // SIGPIPE is blocked, because a closed standard error must not end the supervisor.
    signals = SignalSet([SIGTERM, SIGINT, SIGQUIT, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE, SIGCHLD])
    options = .init(endsWithParent: true, environment: environment, signalMask: signals.block(), sockets: sockets)
    // With an inherited SIG_IGN, the kernel would reap the children, and their ends would be unknown.
    signal(SIGCHLD, SIG_DFL)
    try SystemError.check(cs_process_adopt_orphans(), "adopt orphans")
  }

  func now() -> ContinuousClock.Instant { .now }

  func start() throws(ChildProcess.StartError) -> pid_t { try ChildProcess(file, arguments, options).pid }

  func send(_ signal: Int32, to pid: pid_t) { kill(pid, signal) }

  func say(_ message: String) { Output.complain(message) }

  func next(until end: ContinuousClock.Instant?) -> SupervisorEvent {
    while true {
      // Several children may have ended for one SIGCHLD.
      if let ended = Self.reap() { return .ended(ended.pid, ended.end) }
      let left = end.map { ContinuousClock.now.duration(to: $0) } ?? Self.longestWait
      switch signals.next(within: left) {
      case nil where end != nil: return .timeout
      case nil, (SIGCHLD, _)?, (SIGPIPE, _)?: continue
      case (let signal, let isSent)?: return .signal(signal, isSent: isSent)
      }
    }
  }

  /// Reaps one process that has ended: the program, or an orphan.
  private static func reap() -> (pid: pid_t, end: ChildProcess.End)? {
    var status: Int32 = 0
    // Invariant: waitpid uses the pointer only during the call. With WNOHANG, the call returns at once.
    let pid = unsafe waitpid(-1, &status, WNOHANG)
    return pid > 0 ? (pid, ChildProcess.End(waitStatus: status)) : nil
  }
}
