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

  /// The operation on the stack of screens.
  public var operation: Operation
  /// Whether the transition is animated.
  public var isAnimated: Bool
  /// The old screen; retained until the transition ends.
  public internal(set) var from: Screen?
  /// The screen that the transition shows.
  public internal(set) var to: Screen?

  let site: ShieldSite
}

@available(*, unavailable)
extension Transition: Sendable {}

@available(*, unavailable)
extension Transition.Operation: Sendable {}

/// How a transition ended.
public enum TransitionEnd: Sendable, Hashable {
  /// The new screen is visible.
  case completed
  /// The old screen is still visible and the stack is unchanged, for example after a cancelled swipe.
  case cancelled
}

/// The treatment of a transition that is requested during another one.
public enum TransitionPolicy: Sendable, Hashable {
  /// Queues the transition, if fewer than `limit` transitions are queued.
  case queue(limit: Int = 16)
  /// Drops the transition.
  case drop
  /// Drops all queued transitions and queues this one.
  case replace
}

/// The outcome of a requested transition.
public enum TransitionOutcome: Sendable, Hashable {
  /// The transition has begun.
  case started
  /// The transition is queued.
  case queued
  /// The transition is queued, and the other queued transitions were dropped.
  case replaced
  /// The transition was dropped.
  case dropped(Reason)

  /// The reason why a transition was dropped.
  public enum Reason: Sendable, Hashable {
    /// Another transition is running.
    case busy
    /// The screen is already in the stack, or a queued transition pushes it.
    case duplicate
    /// The stack has only one screen.
    case atRoot
    /// The screen is not in the stack.
    case notInStack
    /// The queue is full.
    case full
    /// A later transition replaced this one in the queue.
    case replaced
  }
}

/// Shows the transitions of a queue to the user.
@MainActor
public protocol TransitionDriver: AnyObject {
  /// The type of a screen.
  associatedtype Screen: AnyObject

  /// Begins a transition, and calls `finished` at its end.
  ///
  /// A second call of `finished`, or a call after the timeout, has no effect.
  func begin(_ transition: Transition<Screen>, finished: @escaping @MainActor (TransitionEnd) -> Void)
}

/// Observes the transitions of a queue.
@MainActor
public protocol TransitionDelegate<Screen>: AnyObject {
  /// The type of a screen.
  associatedtype Screen: AnyObject

  /// Called before a transition begins.
  func willBegin(_ transition: Transition<Screen>)
  /// Called after a transition has ended; `screen` is now visible.
  ///
  /// A transition that the delegate requests in this function runs after the queued transitions.
  func didShow(_ screen: Screen, after transition: Transition<Screen>, _ end: TransitionEnd)
  /// Called when a queued transition was dropped.
  func didDrop(_ transition: Transition<Screen>, _ reason: TransitionOutcome.Reason)
}

extension TransitionDelegate {
  /// Does nothing by default.
  public func willBegin(_ transition: Transition<Screen>) {}
  /// Does nothing by default.
  public func didShow(_ screen: Screen, after transition: Transition<Screen>, _ end: TransitionEnd) {}
  /// Does nothing by default.
  public func didDrop(_ transition: Transition<Screen>, _ reason: TransitionOutcome.Reason) {}
}
