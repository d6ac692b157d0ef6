public import CrashShield
internal import CShim
internal import CShimRing
internal import Synchronization

extension Shield {
  /// The incidents of this process: of guards, the quarantine, guard pages and contained work.
  ///
  /// ```swift
  /// for await incident in Shield.incidents { incident.log(to: logger) }  // `log` is in CrashShieldLogging
  /// ```
  ///
  /// Each iteration begins with the incidents since the start of the shield, and goes on until its task is cancelled.
  /// An incident comes at its first occurrence, and at its 10th, 100th and so on, so a loop of faults is no flood. They
  /// come in batches, four a second at most. A slow reader has a buffer of 256, of which later incidents drop the
  /// oldest; `droppedCount` counts these. A forked child gets none.
  ///
  /// The first iteration creates a thread, which sleeps between incidents. Without an iteration nothing is read.
  public static var incidents: Incidents { Incidents() }

  /// The number of traps that `isolated` has contained in this process.
  ///
  /// Any thread.
  public static var containedFaultCount: Int { Int(cs_shim_contained_parked()) }

  /// A sequence of incidents; each iteration has a buffer of its own.
  public struct Incidents: AsyncSequence, Sendable {
    /// The number of incidents that the buffers of all iterations in this process have dropped.
    public var droppedCount: Int { IncidentReader.shared.droppedCount }

    /// Subscribes: the iteration gets the incidents from here on, after those that the ring has.
    public func makeAsyncIterator() -> AsyncStream<Incident>.Iterator {
      IncidentReader.shared.subscribe().makeAsyncIterator()
    }
  }
}

/// Reads the incidents of the ring on a thread of its own, and passes them to the subscribers.
final class IncidentReader: Sendable {
  static let shared = IncidentReader()
  /// The incidents that the ring can hold, so that the first batch fits.
  static let bufferLimit = Int(CS_RING_INCIDENT_LIMIT)

  private struct Subscriber {
    var continuation: AsyncStream<Shield.Incident>.Continuation
    /// By the key of an incident, the count from which on it comes again.
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
    // Its release, which may call the program, comes after the lock.
    _ = state.withLock { $0.subscribers.removeValue(forKey: number) }
  }

  /// Passes on what is new to each subscriber.
  private func deliver() {
    guard state.withLock({ !$0.subscribers.isEmpty }) else { return }
    var entry = cs_ring_incident()
    // The C function fills in the structure where it returns true.
    let entries = (0..<UInt32(CS_RING_INCIDENT_LIMIT)).compactMap { index in
      unsafe cs_shim_incident_at(index, &entry) ? (key: entry.key, count: entry.count, Shield.Incident(entry)) : nil
    }
    // The thresholds rise under the lock, so that two deliveries tell no incident twice.
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
    // After the lock: a continuation that resumes a task calls the task's executor, which may be the program's and come
    // back here.
    var dropped = 0
    for (continuation, incident) in news {
      if case .dropped = continuation.yield(incident) { dropped += 1 }
    }
    if dropped > 0 { state.withLock { [dropped] state in state.dropped += dropped } }
  }

  /// The next power of ten.
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
