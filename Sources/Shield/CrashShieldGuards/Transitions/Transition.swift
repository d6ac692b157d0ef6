/// One change of the screen that is shown.
public struct Transition<Screen: AnyObject> {
  /// What is done to the stack of screens.
  public enum Operation {
    /// Another screen on top.
    case push(Screen)
    /// The top one away.
    case pop
    /// All above this one away.
    case popTo(Screen)
    /// All above the first one away.
    case popToRoot
  }

  /// What is done.
  public var operation: Operation
  /// Whether one sees it happen.
  public var isAnimated: Bool
  /// The screen that is left; kept until the transition has ended.
  public internal(set) var from: Screen?
  /// The screen that comes.
  public internal(set) var to: Screen?

  let site: ShieldSite
}

@available(*, unavailable)
extension Transition: Sendable {}

@available(*, unavailable)
extension Transition.Operation: Sendable {}

/// How a transition ended.
public enum TransitionEnd: Sendable, Hashable {
  /// The new screen is shown.
  case completed
  /// The old one is still shown, as after a swipe that was taken back: the stack is what it was.
  case cancelled
}

/// What becomes of a transition that is asked for during another.
public enum TransitionPolicy: Sendable, Hashable {
  /// It waits for its turn, behind at most so many others.
  case queue(limit: Int = 16)
  /// It does not happen.
  case drop
  /// It waits in place of all that wait.
  case replace
}

/// What came of a transition that was asked for.
public enum TransitionOutcome: Sendable, Hashable {
  /// It has begun.
  case started
  /// It waits.
  case queued
  /// It waits in place of others, which will not happen.
  case replaced
  /// It does not happen.
  case dropped(Reason)

  /// Why a transition does not happen.
  public enum Reason: Sendable, Hashable {
    /// Another goes on.
    case busy
    /// The screen is in the stack, or will be.
    case duplicate
    /// There is only one screen.
    case atRoot
    /// The screen is not in the stack.
    case notInStack
    /// Too many wait.
    case full
    /// A later one took its place.
    case replaced
  }
}

/// Shows transitions.
@MainActor
public protocol TransitionDriver: AnyObject {
  /// What is shown.
  associatedtype Screen: AnyObject

  /// Begins a transition, and calls `finished` when it has ended. A call that comes late, or again, is without effect.
  func begin(_ transition: Transition<Screen>, finished: @escaping @MainActor (TransitionEnd) -> Void)
}

/// Is told of transitions.
@MainActor
public protocol TransitionDelegate<Screen>: AnyObject {
  /// What is shown.
  associatedtype Screen: AnyObject

  /// A transition is about to begin.
  func willBegin(_ transition: Transition<Screen>)
  /// A transition has ended, and this screen is shown. What is asked for in here comes behind what waits.
  func didShow(_ screen: Screen, after transition: Transition<Screen>, _ end: TransitionEnd)
  /// A transition that waited does not happen.
  func didDrop(_ transition: Transition<Screen>, _ reason: TransitionOutcome.Reason)
}

extension TransitionDelegate {
  /// Without effect.
  public func willBegin(_ transition: Transition<Screen>) {}
  /// Without effect.
  public func didShow(_ screen: Screen, after transition: Transition<Screen>, _ end: TransitionEnd) {}
  /// Without effect.
  public func didDrop(_ transition: Transition<Screen>, _ reason: TransitionOutcome.Reason) {}
}
