import CrashShieldGuards

/// A screen that several threads can reference.
final class Screen: Sendable, CustomStringConvertible {
  let description: String
  init(_ name: String) { description = name }
}

/// A transition driver (the code that shows screens) that ends a transition only when the test calls `finish`.
@MainActor
final class ManualDriver: TransitionDriver {
  private(set) var begun: [Transition<Screen>] = []
  private var finishers: [@MainActor (TransitionEnd) -> Void] = []
  /// A closure that the driver calls when a transition starts, in place of the loading code of a screen.
  var onBegin: ((Transition<Screen>) -> Void)?
  /// The number of running transitions.
  private(set) var running = 0
  private(set) var mostRunning = 0

  func begin(_ transition: Transition<Screen>, finished: @escaping @MainActor (TransitionEnd) -> Void) {
    begun.append(transition)
    finishers.append(finished)
    running += 1
    mostRunning = max(mostRunning, running)
    onBegin?(transition)
  }

  /// Ends the transition that started last.
  func finish(_ end: TransitionEnd = .completed) {
    running -= 1
    finishers.last?(end)
  }

  /// Marks the last transition as no longer running, without a report of its end to the queue.
  func abandon() { running -= 1 }

  /// Reports the end of the transition with this number to the queue, even if the transition is not running.
  func finishAgain(_ number: Int, _ end: TransitionEnd = .completed) { finishers[number](end) }

  /// Releases the transitions, but keeps the closures that report their ends.
  func forgetBegun() { begun = [] }
}

/// Logs the calls that it receives as a delegate.
@MainActor
final class Log: TransitionDelegate {
  private(set) var lines: [String] = []
  var onShow: (() -> Void)?

  func willBegin(_ transition: Transition<Screen>) { lines.append("begin \(transition.to.map { "\($0)" } ?? "-")") }

  func didShow(_ screen: Screen, after transition: Transition<Screen>, _ end: TransitionEnd) {
    lines.append("\(end == .completed ? "show" : "keep") \(screen)")
    onShow?()
  }

  func didDrop(_ transition: Transition<Screen>, _ reason: TransitionOutcome.Reason) { lines.append("drop \(reason)") }
}

/// A transition queue with its driver and its delegate.
@MainActor
struct Navigation {
  let home = Screen("home")
  let driver = ManualDriver()
  let log = Log()
  let queue: TransitionQueue<ManualDriver>

  init(_ policy: TransitionPolicy = .queue(), timeout: Duration = .seconds(600)) {
    queue = TransitionQueue(root: home, driver: driver, policy: policy, timeout: timeout)
    queue.delegate = log
  }

  var names: [String] { queue.stack.map(\.description) }

  /// Waits until this many transitions have started.
  func begun(_ count: Int) async {
    while driver.begun.count < count { await Task.yield() }
  }

  /// Ends running transitions, and waits until none is queued.
  func settle() async {
    while !queue.isIdle {
      if queue.isTransitioning { driver.finish() }
      await Task.yield()
    }
  }
}
