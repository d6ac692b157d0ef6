/// A change of the visible screen.
public struct Transition<Screen: AnyObject> {
  /// The change of the stack of screens.
  public enum Operation {
    /// Pushes a screen.
    case push(Screen)
    /// Pops the top screen.
    case pop
    /// Pops all screens above this one.
    case popTo(Screen)
    /// Pops all screens but the first.
    case popToRoot
  }

  /// The operation.
  public var operation: Operation
  /// Whether the transition is animated.
  public var isAnimated: Bool
  /// The old screen; retained until the transition ends.
  public internal(set) var from: Screen?
  /// The new screen.
  public internal(set) var to: Screen?

  let site: ShieldSite
}

@available(*, unavailable)
extension Transition: Sendable {}

@available(*, unavailable)
extension Transition.Operation: Sendable {}

/// The end of a transition.
public enum TransitionEnd: Sendable, Hashable {
  /// The new screen is visible.
  case completed
  /// The old screen is still visible, as after a cancelled swipe: the stack is unchanged.
  case cancelled
}

/// The treatment of a transition that is requested during another one.
public enum TransitionPolicy: Sendable, Hashable {
  /// Queues it, behind at most so many others.
  case queue(limit: Int = 16)
  /// Drops it.
  case drop
  /// Queues it in place of all queued ones.
  case replace
}

/// The outcome of a requested transition.
public enum TransitionOutcome: Sendable, Hashable {
  /// The transition has begun.
  case started
  /// The transition is queued.
  case queued
  /// The transition is queued in place of others, which were dropped.
  case replaced
  /// The transition was dropped.
  case dropped(Reason)

  /// The reason why a transition was dropped.
  public enum Reason: Sendable, Hashable {
    /// Another transition is running.
    case busy
    /// The screen is in the stack, or a queued transition pushes it.
    case duplicate
    /// The stack has only one screen.
    case atRoot
    /// The screen is not in the stack.
    case notInStack
    /// The queue is full.
    case full
    /// A later one replaced it.
    case replaced
  }
}

/// Performs transitions.
@MainActor
public protocol TransitionDriver: AnyObject {
  /// The type of a screen.
  associatedtype Screen: AnyObject

  /// Begins a transition, and calls `finished` at its end. A late or second call has no effect.
  func begin(_ transition: Transition<Screen>, finished: @escaping @MainActor (TransitionEnd) -> Void)
}

/// Observes transitions.
@MainActor
public protocol TransitionDelegate<Screen>: AnyObject {
  /// The type of a screen.
  associatedtype Screen: AnyObject

  /// A transition is about to begin.
  func willBegin(_ transition: Transition<Screen>)
  /// A transition has ended, and this screen is visible. A transition requested here comes after the queued ones.
  func didShow(_ screen: Screen, after transition: Transition<Screen>, _ end: TransitionEnd)
  /// A queued transition was dropped.
  func didDrop(_ transition: Transition<Screen>, _ reason: TransitionOutcome.Reason)
}

extension TransitionDelegate {
  /// Does nothing.
  public func willBegin(_ transition: Transition<Screen>) {}
  /// Does nothing.
  public func didShow(_ screen: Screen, after transition: Transition<Screen>, _ end: TransitionEnd) {}
  /// Does nothing.
  public func didDrop(_ transition: Transition<Screen>, _ reason: TransitionOutcome.Reason) {}
}
