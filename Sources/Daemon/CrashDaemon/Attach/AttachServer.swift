import Glibc
import LinuxSystem
import ServiceLifecycle
import Synchronization

/// Owns the attach socket and the thread that serves it.
///
/// Other threads send commands to this thread.
final class AttachServer: Service {
  enum Command: Sendable {
    /// Reads the connections of a process now.
    ///
    /// Resumes the continuation when the pipeline has received all earlier messages of the process.
    case settle(pid: Int32, CheckedContinuation<Void, Never>)
    case stop
  }

  private struct State {
    var commands: [Command] = []
    var hasStopped = false
    var failure: SystemError?
    var waiter: CheckedContinuation<Void, any Error>?
  }

  private let state = Mutex(State())
  private let poller: Poller
  private let configuration: AttachLoop.Configuration

  init(_ configuration: AttachLoop.Configuration) throws(SystemError) {
    self.configuration = configuration
    let poller = try Poller()
    self.poller = poller
    configuration.board.onChange { poller.wake() }
    configuration.settings.onChange { poller.wake() }
    configuration.lastCrashes.onChange { poller.wake() }
  }

  /// Serves the attach socket until a graceful stop.
  ///
  /// When this function returns, all messages that processes sent before the stop are in the pipeline.
  func run() async throws {
    try Thread.start(named: "attach") { [self] in
      var failure: SystemError?
      do throws(SystemError) {
        var loop = try AttachLoop(configuration, poller: poller)
        try loop.run { self.takeCommands() }
      } catch {
        failure = error
      }
      finish(failure)
    }
    try await withGracefulShutdownHandler {
      try await withCheckedThrowingContinuation { wait($0) }
    } onGracefulShutdown: {
      self.post(.stop)
    }
  }

  /// Wakes the attach thread, which then runs one iteration of its loop.
  func nudge() { poller.wake() }

  /// Waits until all messages that a process has sent so far are in the pipeline.
  func settle(pid: Int32) async {
    await withCheckedContinuation { post(.settle(pid: pid, $0)) }
  }

  private func post(_ command: Command) {
    let isLate = state.withLock { state in
      if !state.hasStopped { state.commands.append(command) }
      return state.hasStopped
    }
    if isLate, case .settle(_, let continuation) = command {
      continuation.resume()
      return
    }
    poller.wake()
  }

  private func takeCommands() -> [Command] {
    state.withLock { state in
      defer { state.commands = [] }
      return state.commands
    }
  }

  private func wait(_ continuation: CheckedContinuation<Void, any Error>) {
    let result: Result<Void, any Error>? = state.withLock { state in
      if let failure = state.failure { return .failure(failure) }
      if state.hasStopped { return .success(()) }
      state.waiter = continuation
      return nil
    }
    if let result { continuation.resume(with: result) }
  }

  private func finish(_ failure: SystemError?) {
    configuration.events.finish()
    let (waiter, commands) = state.withLock { state in
      state.hasStopped = true
      state.failure = failure
      defer { (state.waiter, state.commands) = (nil, []) }
      return (state.waiter, state.commands)
    }
    for case .settle(_, let continuation) in commands { continuation.resume() }
    if let failure { waiter?.resume(throwing: failure) } else { waiter?.resume() }
  }
}
