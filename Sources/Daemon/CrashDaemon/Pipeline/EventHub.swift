import CrashStore
import Synchronization

/// Notifies listeners that the store has new reports of crashes, or new incidents (faults that a process survived).
///
/// Each listener reads the new reports or incidents from the store. The hub itself queues no reports.
final class EventHub: Sendable {
  enum Topic { case reports, incidents }

  private struct Listener {
    var topic: Topic
    var visibility: Visibility
    var continuation: AsyncStream<Void>.Continuation
  }

  private struct State {
    var next: UInt64 = 0
    var listeners: [UInt64: Listener] = [:]
    var readers: [UInt64: StoreCursor] = [:]
  }

  /// The permits that limit the number of pages of events in crashd's memory.
  ///
  /// A subscriber's connection has a permit while it reads and sends a page.
  let pages: FairSemaphore
  private let state = Mutex(State())

  init(_ limits: Limits = Limits()) {
    pages = FairSemaphore(
      PermitLimit(total: limits.connections, perUser: limits.eventPagesPerUser, hasReserve: false), limits.accounts)
  }

  /// Notifies listeners that a report was stored.
  func notify() { notify { $0.topic == .reports } }

  /// Notifies the listeners that are allowed to see the process that incidents of this process were stored.
  func notifyOfIncidents(of process: ProcessFacts) {
    notify { $0.topic == .incidents && $0.visibility.includes(process) }
  }

  /// Notifies all listeners, because a store that was replaced can have new reports and incidents.
  func notifyOfNewStore() { notify { _ in true } }

  private func notify(_ isMeant: (Listener) -> Bool) {
    let listeners = state.withLock { $0.listeners.values.filter(isMeant) }
    for listener in listeners { listener.continuation.yield() }
  }

  /// Registers a reader of events that starts at a cursor (a position in the stored events).
  /// - Returns: The reader's number, for `read` and `endReading`.
  func beginReading(at cursor: StoreCursor) -> UInt64 {
    state.withLock { state in
      state.next += 1
      state.readers[state.next] = cursor
      return state.next
    }
  }

  /// Records the cursor that a reader has reached.
  func read(_ number: UInt64, to cursor: StoreCursor) { state.withLock { $0.readers[number] = cursor } }

  func endReading(_ number: UInt64) { state.withLock { $0.readers[number] = nil } }

  /// The cursor of the registered reader that has read the fewest events; nil if there is no reader.
  var slowestReader: StoreCursor? { state.withLock { $0.readers.values.min() } }

  /// Returns a stream that yields an element whenever the store could have new reports or incidents of the topic.
  ///
  /// If several changes happen before a listener reads its stream, they are combined into one element. An incident
  /// wakes only listeners whose `visibility` includes the process of the incident. A report wakes every listener.
  func news(of topic: Topic = .reports, for visibility: Visibility = .all) -> AsyncStream<Void> {
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let number = state.withLock { state in
      state.next += 1
      state.listeners[state.next] = Listener(topic: topic, visibility: visibility, continuation: continuation)
      return state.next
    }
    continuation.onTermination = { [weak self] _ in
      self?.state.withLock { state in state.listeners[number] = nil }
    }
    return stream
  }
}
