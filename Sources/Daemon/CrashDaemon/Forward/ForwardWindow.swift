import CrashStore
import Synchronization

/// The events that crashd sent on one connection and that the collector has not acknowledged yet.
///
/// One task sends events, and another task receives acknowledgements. An acknowledgement takes effect immediately, even
/// while the next event is being sent.
final class ForwardWindow: Sendable {
  private struct State {
    /// The events that were sent but not acknowledged, in order; at most as many as crashd reads from the store at once
    /// (`Limits.eventBatch`).
    var open: [StoreCursor] = []
    var sent: StoreCursor
    var reached: StoreCursor?
    var isLate = false
  }

  private let state: Mutex<State>
  private let continuation: AsyncStream<Void>.Continuation
  /// A stream that yields an element after acknowledgements have arrived; several acknowledgements can cause one
  /// element.
  ///
  /// Only one task is allowed to read the stream.
  let progress: AsyncStream<Void>
  /// The epoch (ID and key) of the store to which the connection's cursors belong.
  let epoch: StoreEpoch

  /// - Parameter start: The cursor after which the connection sends events.
  init(from start: StoreCursor) {
    state = Mutex(State(sent: start))
    epoch = start.epoch
    (progress, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
  }

  /// The cursor of the last acknowledged event; nil if the collector has not acknowledged an event on this connection.
  var reached: StoreCursor? { state.withLock { $0.reached } }

  /// Whether the collector has acknowledged all events that were sent.
  var isEmpty: Bool { state.withLock { $0.open.isEmpty } }

  /// Whether crashd closed the connection because the collector exceeded its time-out (`Limits.collector_ms`).
  var isLate: Bool { state.withLock { $0.isLate } }
  func noteLate() { state.withLock { $0.isLate = true } }

  /// Adds the event that crashd sends next.
  func send(_ cursor: StoreCursor) {
    state.withLock { state in
      state.open.append(cursor)
      state.sent = cursor
    }
  }

  /// Records that the collector acknowledges all events up to a cursor.
  /// - Returns: The number of events that this call acknowledges; nil if the cursor is after the last sent event, or
  ///   belongs to another epoch of the store.
  func acknowledge(through cursor: StoreCursor) -> Int? {
    take { state in
      guard cursor.epoch == epoch, cursor <= state.sent else { return nil }
      return state.open.prefix { $0 <= cursor }.count
    }
  }

  /// Records that the collector acknowledges the oldest event that it has not acknowledged yet.
  /// - Returns: 1, the number of acknowledged events; nil if the collector has already acknowledged all events.
  func acknowledgeNext() -> Int? {
    take { $0.open.isEmpty ? nil : 1 }
  }

  private func take(_ count: (State) -> Int?) -> Int? {
    let taken = state.withLock { state -> Int? in
      guard let taken = count(state) else { return nil }
      if taken > 0 { state.reached = state.open[taken - 1] }
      state.open.removeFirst(taken)
      return taken
    }
    if let taken, taken > 0 { continuation.yield() }
    return taken
  }
}
