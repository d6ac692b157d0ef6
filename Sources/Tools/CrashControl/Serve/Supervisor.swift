internal import CrashReport
import Glibc
internal import LinuxSystem

/// An event that `Supervisor` handles.
enum SupervisorEvent: Equatable {
  /// A child process of crashctl, or an orphan process that crashctl had adopted, has ended.
  case ended(pid_t, ChildProcess.End)
  /// Another process or the kernel sent a signal to crashctl.
  case signal(Int32, isSent: Bool)
  /// The time limit of the wait is over.
  case timeout
}

/// The processes, signals, clock and messages of a supervisor, which tests replace.
protocol SupervisorSystem {
  func now() -> ContinuousClock.Instant
  func start() throws(ChildProcess.StartError) -> pid_t
  func send(_ signal: Int32, to pid: pid_t)
  /// Waits for the next event; if `until` is not nil, at most until this time.
  func next(until: ContinuousClock.Instant?) -> SupervisorEvent
  func say(_ message: String)
}

/// Runs a program, and starts it again when a signal has ended it.
///
/// A supervisor is in one of two states: it waits for the end of the program (`awaitEnd`), or it waits before the next
/// start (`awaitDelay`).
struct Supervisor<System: SupervisorSystem> {
  private typealias Life = (pid: pid_t, start: ContinuousClock.Instant)

  private let system: System
  private var policy: RestartPolicy
  /// The signal that stopped the supervision; nil if none has arrived.
  private var stopSignal: Int32?

  init(_ system: System, policy: RestartPolicy) {
    self.system = system
    self.policy = policy
  }

  /// Runs the program until no restart follows.
  ///
  /// Returns how the last process of the program ended, or the stop signal if this signal arrived while no process ran.
  ///
  /// - Throws: The error of the first start, or the error of the start after which the policy gave up.
  mutating func run() throws(ChildProcess.StartError) -> ChildProcess.End {
    var life = try start()
    while true {
      let end = awaitEnd(of: life.pid)
      let uptime = life.start.duration(to: system.now())
      let what = "process \(life.pid) \(Self.text(end)) after \(DurationText.text(uptime))"
      guard case .signaled = end, stopSignal == nil else {
        system.say(what)
        return end
      }
      guard let next = try startAgain(because: what, afterUptime: uptime) else {
        return stopSignal.map { .signaled($0) } ?? end
      }
      life = next
    }
  }

  private func start() throws(ChildProcess.StartError) -> Life {
    let start = system.now()
    let pid = try system.start()
    system.say("process \(pid) started")
    return (pid, start)
  }

  /// Starts the program again, after the delay of the policy.
  ///
  /// Returns nil if the policy gives up, or if a stop signal arrives. A failed start counts as a quick end and is
  /// repeated, because an update can be replacing the executable at this moment.
  private mutating func startAgain(
    because what: String, afterUptime uptime: Duration
  ) throws(ChildProcess.StartError) -> Life? {
    var (what, uptime) = (what, uptime)
    var failure: ChildProcess.StartError?
    while true {
      guard case .restart(let delay) = policy.decision(afterUptime: uptime) else {
        system.say("\(what); no restart, because it was quick end number \(policy.quickEnds) in a row")
        if let failure { throw failure }
        return nil
      }
      let isDelayed = delay > .zero
      let when = isDelayed ? "in \(DurationText.text(delay)), quick end number \(policy.quickEnds) in a row" : "at once"
      system.say("\(what); restart \(when)")
      awaitDelay(delay)
      if stopSignal != nil { return nil }
      do throws(ChildProcess.StartError) {
        return try start()
      } catch {
        (what, uptime, failure) = (error.failure.message, .zero, error)
      }
    }
  }

  /// Waits for the end of the program, and forwards signals to it.
  private mutating func awaitEnd(of pid: pid_t) -> ChildProcess.End {
    while true {
      switch system.next(until: nil) {
      case .ended(pid, let end): return end
      case .ended, .timeout: continue
      case .signal(let signal, let isSent):
        note(signal, isSent: isSent)
        // A signal of the terminal is not forwarded, because the kernel has sent the signal to the program, too.
        if isSent { system.send(signal, to: pid) }
        let what = isSent ? "forwarded to process \(pid)" : "sent by the terminal"
        let rest = stopSignal == signal ? ", no restart follows" : ""
        system.say("\(SignalNames.name(of: Int(signal))) \(what)\(rest)")
      }
    }
  }

  /// Waits until the time of the next start, or for a stop signal.
  ///
  /// Other signals are dropped, because no program runs.
  private mutating func awaitDelay(_ delay: Duration) {
    let end = system.now() + delay
    while stopSignal == nil {
      switch system.next(until: end) {
      case .timeout: return
      case .ended: continue
      case .signal(let signal, let isSent):
        note(signal, isSent: isSent)
        let what = stopSignal == signal ? "no restart follows" : "dropped, because no process runs"
        system.say("\(SignalNames.name(of: Int(signal))): \(what)")
      }
    }
  }

  /// Stores the signal in `stopSignal` if the signal stops the supervision.
  ///
  /// A SIGHUP that a process sends does not stop the supervision, because servers reload their settings at this signal.
  /// A SIGHUP of the kernel means that the terminal has closed.
  private mutating func note(_ signal: Int32, isSent: Bool) {
    if [SIGTERM, SIGINT, SIGQUIT].contains(signal) || signal == SIGHUP && !isSent { stopSignal = signal }
  }

  private static func text(_ end: ChildProcess.End) -> String {
    switch end {
    case .exited(let code): "exited with status \(code)"
    case .signaled(let signal): "was ended by \(SignalNames.name(of: Int(signal)))"
    }
  }
}
