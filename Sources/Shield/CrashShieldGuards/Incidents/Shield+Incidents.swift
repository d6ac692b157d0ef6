public import CrashShield
internal import CShim
internal import CShimRing
internal import Synchronization

extension Shield {
  /// The incidents of this process: of guards, the quarantine, guard pages and isolated work.
  ///
  /// ```swift
  /// for await incident in Shield.incidents { incident.log(to: logger) }  // `log` is in CrashShieldLogging
  /// ```
  ///
  /// Each `for await` loop first receives the incidents since the shield was started, and continues until its task is
  /// cancelled. An incident is delivered at its first occurrence, then at its 10th, its 100th and so on. A fault in a
  /// loop therefore does not flood the reader. Incidents arrive in batches, at most four a second. Each `for await`
  /// loop has its own buffer of 256 incidents. If the reader is slow, new incidents replace the oldest incidents in the
  /// buffer, and `droppedCount` counts the replaced incidents. In a forked child the sequence delivers no incidents.
  ///
  /// The first `for await` loop creates a thread, which reads the incidents and sleeps between the readings.
  public static var incidents: Incidents { Incidents() }

  /// The number of traps that `isolated` has contained in this process.
  ///
  /// May be read from any thread.
  public static var containedFaultCount: Int { Int(cs_shim_contained_parked()) }

  /// A sequence of incidents; each `for await` loop has its own buffer.
  public struct Incidents: AsyncSequence, Sendable {
    /// The number of incidents that the buffers of all `for await` loops in this process have dropped.
    public var droppedCount: Int { IncidentReader.shared.droppedCount }

    /// Subscribes to the incidents: the iterator delivers the incidents that are in the ring, and then all later
    /// incidents.
    public func makeAsyncIterator() -> AsyncStream<Incident>.Iterator {
      IncidentReader.shared.subscribe().makeAsyncIterator()
    }
  }
}

/// Reads the incidents from the ring on a thread of its own, and delivers them to the subscribers.
final class IncidentReader: Sendable {
  static let shared = IncidentReader()
  /// The size of a subscriber's buffer: the first batch, which can have as many incidents as the ring, must fit.
  static let bufferLimit = Int(CS_RING_INCIDENT_LIMIT)

  private struct Subscriber {
    var continuation: AsyncStream<Shield.Incident>.Continuation
    /// The number of occurrences at which each incident is next delivered, by the incident's key.
    var thresholds: [UInt64: UInt64] = [:]
  }

  private struct State {
    var subscribers: [UInt64: Subscriber] = [:]
    var next: UInt64 = 0
    var hasThread = false
    var dropped = 0
  }

  private let state = Mutex(State())

  var droppedCount: Int { state.withLock { $0.dropped } }

  func subscribe() -> AsyncStream<Shield.Incident> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Shield.Incident.self, bufferingPolicy: .bufferingNewest(Self.bufferLimit))
    let (number, needsThread) = state.withLock { state in
      state.next += 1
      state.subscribers[state.next] = Subscriber(continuation: continuation)
      defer { state.hasThread = true }
      return (state.next, !state.hasThread)
    }
    continuation.onTermination = { _ in self.remove(number) }
    deliver()
    if needsThread && !cs_shim_incidents_follow({ IncidentReader.shared.deliver() }) {
      state.withLock { $0.hasThread = false }
    }
    return stream
  }

  private func remove(_ number: UInt64) {
    // Release the subscriber after unlocking, because the release can call code of the program.
    _ = state.withLock { $0.subscribers.removeValue(forKey: number) }
  }

  /// Delivers the new incidents to each subscriber.
  private func deliver() {
    guard state.withLock({ !$0.subscribers.isEmpty }) else { return }
    var entry = cs_ring_incident()
    // Invariant: the C function fills in the structure if it returns true.
    let entries = (0..<UInt32(CS_RING_INCIDENT_LIMIT)).compactMap { index in
      unsafe cs_shim_incident_at(index, &entry) ? (key: entry.key, count: entry.count, Shield.Incident(entry)) : nil
    }
    // The lock keeps two concurrent deliveries from yielding an incident twice.
    let news = state.withLock { state in
      var news: [(AsyncStream<Shield.Incident>.Continuation, Shield.Incident)] = []
      for (number, continuation) in state.subscribers.mapValues(\.continuation) {
        for (key, count, incident) in entries {
          guard count >= state.subscribers[number]?.thresholds[key, default: 1] ?? .max else { continue }
          state.subscribers[number]?.thresholds[key] = Self.threshold(after: count)
          news.append((continuation, incident))
        }
      }
      return news
    }
    // `yield` runs outside the lock: it can resume a task on an executor of the program, and that executor can call
    // this reader.
    var dropped = 0
    for (continuation, incident) in news {
      if case .dropped = continuation.yield(incident) { dropped += 1 }
    }
    if dropped > 0 { state.withLock { [dropped] state in state.dropped += dropped } }
  }

  /// Returns the next power of ten above the count.
  private static func threshold(after count: UInt64) -> UInt64 {
    var threshold: UInt64 = 10
    while threshold <= count {
      let (next, isTooLarge) = threshold.multipliedReportingOverflow(by: 10)
      if isTooLarge { return .max }
      threshold = next
    }
    return threshold
  }
}
