import CrashStore
import Synchronization

/// The events that were sent on one connection, and how many of them the collector has acknowledged.
///
/// One task sends, another receives acknowledgements. One counts as soon as it arrives, also while the next event is
/// being sent.
final class ForwardWindow: Sendable {
  private struct State {
    /// Sent and not acknowledged, in order: a page of events at most.
    var open: [StoreCursor] = []
    var sent: StoreCursor
    var reached: StoreCursor?
    var isLate = false
  }

  private let state: Mutex<State>
  private let continuation: AsyncStream<Void>.Continuation
  /// One element for any number of acknowledgements since the last element; for one reader.
  let progress: AsyncStream<Void>
  /// The epoch of the cursors of this connection.
  let epoch: StoreEpoch

  /// - Parameter start: The cursor that the connection continues after.
  init(from start: StoreCursor) {
    state = Mutex(State(sent: start))
    epoch = start.epoch
    (progress, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
  }

  /// The collector has every event up to this one; nil: none of this connection.
  var reached: StoreCursor? { state.withLock { $0.reached } }

  /// Whether the collector has acknowledged everything that was sent.
  var isEmpty: Bool { state.withLock { $0.open.isEmpty } }

  /// Whether the connection ends because of the collector's time-out, and not by the collector.
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
  /// - Returns: How many events that newly acknowledges; nil: the cursor was not sent yet.
  func acknowledge(through cursor: StoreCursor) -> Int? {
    take { state in
      guard cursor.epoch == epoch, cursor <= state.sent else { return nil }
      return state.open.prefix { $0 <= cursor }.count
    }
  }

  /// Acknowledges the oldest unacknowledged event.
  /// - Returns: 1; nil: there is none.
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
