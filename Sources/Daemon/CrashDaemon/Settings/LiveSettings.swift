import CrashReport
import CrashStore
import Synchronization

/// Contains the settings that can change while crashd runs.
///
/// Components read the current values, or subscribe to changes.
final class LiveSettings: Sendable {
  /// The values, at one time, of the settings that can change.
  struct Values: Sendable, Equatable {
    var retention = RetentionPolicy()
    var forward: [ForwardSettings] = []
    var privacy = PrivacySettings()
    var noMemory: [MemoryRule] = []
    var metricsFile: String?
    var metricsInterval_s = 60
    var metricsAddresses: [MetricsAddress] = []
  }

  private struct State {
    var values: Values
    var next = 0
    var listeners: [Int: AsyncStream<Values>.Continuation] = [:]
    var wake: (@Sendable () -> Void)?
  }

  private let state: Mutex<State>

  init(_ values: Values = Values()) { state = Mutex(State(values: values)) }

  var current: Values { state.withLock { $0.values } }

  /// Sets the callback that runs after each change.
  ///
  /// The callback can run on any thread.
  func onChange(_ wake: @escaping @Sendable () -> Void) { state.withLock { $0.wake = wake } }

  func change(to new: Values) {
    // Ordering: the streams receive the values while the lock is held, so that changes arrive in order. Holding the
    // lock is safe, because `yield` does not block.
    let wake = state.withLock { state in
      state.values = new
      for listener in state.listeners.values { listener.yield(new) }
      return state.wake
    }
    wake?()
  }

  /// Returns a stream that contains the current values, followed by the values after each change.
  func changes() -> AsyncStream<Values> {
    let (stream, continuation) = AsyncStream.makeStream(of: Values.self, bufferingPolicy: .bufferingNewest(1))
    let number = state.withLock { state in
      state.next += 1
      state.listeners[state.next] = continuation
      continuation.yield(state.values)
      return state.next
    }
    continuation.onTermination = { [weak self] _ in
      self?.state.withLock { state in state.listeners[number] = nil }
    }
    return stream
  }
}
