import CrashStore
import Synchronization

/// What a collector was sent on one connection, and how much of that it has.
///
/// One task sends, another hears what the collector says: an acknowledgement counts as soon as it is there, also while
/// the next event is being sent.
final class ForwardWindow: Sendable {
  private struct State {
    /// Sent, and not the collector's yet, in order: a page of events at most.
    var open: [StoreCursor] = []
    var sent: StoreCursor
    var reached: StoreCursor?
    var isLate = false
  }

  private let state: Mutex<State>
  private let continuation: AsyncStream<Void>.Continuation
  /// One element for any number of acknowledgements since the last one was taken; for one reader.
  let progress: AsyncStream<Void>
  /// Of the cursors that the connection sends.
  let epoch: StoreEpoch

  /// - Parameter start: The connection begins behind this one.
  init(from start: StoreCursor) {
    state = Mutex(State(sent: start))
    epoch = start.epoch
    (progress, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
  }

  /// The collector has every event up to this one; nil: none of this connection.
  var reached: StoreCursor? { state.withLock { $0.reached } }

  /// Whether the collector has all that it was sent.
  var isEmpty: Bool { state.withLock { $0.open.isEmpty } }

  /// Whether the connection ends because the collector took too long, and not by the collector's will.
  var isLate: Bool { state.withLock { $0.isLate } }
  func noteLate() { state.withLock { $0.isLate = true } }

  /// This event is sent next.
  func send(_ cursor: StoreCursor) {
    state.withLock { state in
      state.open.append(cursor)
      state.sent = cursor
    }
  }

  /// The collector has everything up to a cursor.
  /// - Returns: How many events that are, 0 when it said so before; nil: it was not sent so much.
  func acknowledge(through cursor: StoreCursor) -> Int? {
    take { state in
      guard cursor.epoch == epoch, cursor <= state.sent else { return nil }
      return state.open.prefix { $0 <= cursor }.count
    }
  }

  /// The collector has the event that was sent first of those it has not acknowledged.
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
