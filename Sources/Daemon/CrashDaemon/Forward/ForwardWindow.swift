import CrashStore
import Synchronization

/// The events that were sent on one connection, and how many of them the collector has acknowledged.
///
/// One task sends events, and another receives acknowledgements. An acknowledgement counts as soon as it arrives, even
/// while the next event is being sent.
final class ForwardWindow: Sendable {
  private struct State {
    /// The events that were sent and not acknowledged, in order.
    ///
    /// They are at most one page.
    var open: [StoreCursor] = []
    var sent: StoreCursor
    var reached: StoreCursor?
    var isLate = false
  }

  private let state: Mutex<State>
  private let continuation: AsyncStream<Void>.Continuation
  /// Yields one element for all acknowledgements since the last element.
  ///
  /// Only one task may read it.
  let progress: AsyncStream<Void>
  /// The epoch of the cursors of this connection.
  let epoch: StoreEpoch

  /// - Parameter start: The cursor that the connection continues after.
  init(from start: StoreCursor) {
    state = Mutex(State(sent: start))
    epoch = start.epoch
    (progress, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
  }

  /// The last acknowledged event; nil if none was acknowledged on this connection.
  var reached: StoreCursor? { state.withLock { $0.reached } }

  /// Whether the collector has acknowledged everything that was sent.
  var isEmpty: Bool { state.withLock { $0.open.isEmpty } }

  /// Whether crashd closed the connection because the collector exceeded its time-out.
  var isLate: Bool { state.withLock { $0.isLate } }
  func noteLate() { state.withLock { $0.isLate = true } }

  /// Adds the event that is sent next.
  func send(_ cursor: StoreCursor) {
    state.withLock { state in
      state.open.append(cursor)
      state.sent = cursor
    }
  }

  /// Acknowledges everything up to a cursor.
  /// - Returns: How many events this call acknowledges; nil if the cursor was not sent yet.
  func acknowledge(through cursor: StoreCursor) -> Int? {
    take { state in
      guard cursor.epoch == epoch, cursor <= state.sent else { return nil }
      return state.open.prefix { $0 <= cursor }.count
    }
  }

  /// Acknowledges the oldest unacknowledged event.
  /// - Returns: 1; nil if every event is acknowledged.
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
