import CrashShieldGuards

/// A navigation stack of screens.
@MainActor
protocol Navigation: AnyObject {
  var stack: [Screen] { get }
  /// Whether no transition is running or queued.
  var isIdle: Bool { get }
  /// The functions below return a sentence that says what happened to the requested transition.
  func push(_ screen: Screen) -> String
  func pop() -> String
  func popToRoot() -> String
}

/// A stack without a queue: performs each request at once, even during a transition.
@MainActor
final class PlainNavigation: Navigation {
  private(set) var stack: [Screen]
  private let window: Window

  init(root: Screen, window: Window) {
    stack = [root]
    self.window = window
  }

  var isIdle: Bool { !window.isSliding }

  func push(_ screen: Screen) -> String { show(stack + [screen]) }

  func pop() -> String { stack.count > 1 ? show(stack.dropLast()) : "nothing to go back to" }

  func popToRoot() -> String { stack.count > 1 ? show(stack.prefix(1)) : "nothing to go back to" }

  private func show(_ screens: some Sequence<Screen>) -> String {
    stack = Array(screens)
    if let top = stack.last { window.show(top) }
    return "begun"
  }
}

/// A stack that performs requests through a `TransitionQueue`, which runs one transition at a time.
@MainActor
final class QueuedNavigation: Navigation, TransitionDriver {
  private let window: Window
  private var queue: TransitionQueue<QueuedNavigation>?

  init(root: Screen, window: Window) {
    self.window = window
    queue = TransitionQueue(root: root, driver: self, policy: .queue(limit: 8))
  }

  var stack: [Screen] { queue?.stack ?? [] }
  var isIdle: Bool { queue?.isIdle ?? true }

  func push(_ screen: Screen) -> String { say(queue?.push(screen)) }
  func pop() -> String { say(queue?.pop()) }
  func popToRoot() -> String { say(queue?.popToRoot()) }

  func begin(_ transition: Transition<Screen>, finished: @escaping @MainActor (TransitionEnd) -> Void) {
    guard let screen = transition.to else { return finished(.cancelled) }
    window.show(screen) { finished(.completed) }
  }

  private func say(_ outcome: TransitionOutcome?) -> String {
    switch outcome {
    case .started: "begun"
    case .queued: "waits"
    case .replaced: "waits in place of others"
    case .dropped(let reason): "does not happen: \(reason)"
    case nil: "there is no screen"
    }
  }
}
