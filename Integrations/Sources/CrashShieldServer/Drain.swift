import Synchronization

/// Notifies the parts of a server when the process begins to drain.
///
/// After a trap, a draining process accepts no new connections, finishes its requests, and ends.
///
/// A program starts the shield before it creates the server. A `Drain` connects the callback `onDrain` of the shield
/// with the server:
///
/// ```swift
/// let drain = Drain()
/// configuration.onDrain = drain.begin
/// try Shield.startOrThrow(configuration)
/// // … after the server has started:
/// drain.onBegin { server.beginGracefulShutdown() }
/// ```
public final class Drain: Sendable {
  private enum State {
    case waiting([@Sendable () -> Void])
    case begun
  }

  private let state = Mutex(State.waiting([]))

  /// Creates a drain that has not begun.
  public init() {}

  /// Marks the drain as begun, and calls the callbacks in the order of their registration.
  ///
  /// Further calls do nothing. Assign this function to `Shield.Configuration.onDrain`.
  @Sendable
  public func begin() {
    let callbacks = state.withLock { state -> [@Sendable () -> Void] in
      guard case .waiting(let callbacks) = state else { return [] }
      state = .begun
      return callbacks
    }
    for callback in callbacks { callback() }
  }

  /// Calls `callback` once: when the drain begins, or at once if the drain has already begun.
  ///
  /// The callback usually runs on a thread of the shield, and must not block. If the drain has already begun, the
  /// callback runs on the calling thread. The callback must stop the acceptance of new connections, for example by
  /// `setOption(.autoRead, value: false)` of a server channel. The callback must not call `shutdown` on an inherited
  /// socket, because the socket also belongs to the supervisor.
  public func onBegin(_ callback: @escaping @Sendable () -> Void) {
    let hasBegun = state.withLock { state in
      guard case .waiting(let callbacks) = state else { return true }
      state = .waiting(callbacks + [callback])
      return false
    }
    if hasBegun { callback() }
  }
}
