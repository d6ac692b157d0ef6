import CrashRing
import Synchronization

/// A ring and its owner, which together identify a spool file.
struct RingKey: Hashable, Sendable {
  var id: String
  var user: UInt32

  init(id: String, user: UInt32) { (self.id, self.user) = (id, user) }
  init(_ facts: ProcessFacts) { self.init(id: facts.identity.ringID, user: facts.peer.uid) }
}

/// The rings (the memory with crash records) of attached processes.
///
/// A ring in this table can also have a file in the spool directory.
final class RingTable: Sendable {
  private struct State {
    /// The number of attached processes for each ring.
    ///
    /// A process that reconnects is counted twice until its first connection ends.
    var counts: [RingKey: Int] = [:]
    /// The stored incidents (faults that a process survived) of each ring, with their numbers of occurrences.
    ///
    /// The incidents are stored for each ring and not for each connection. One ring can arrive over several
    /// connections, but its incidents must be counted once.
    var occurrences: [RingKey: CrashAnalysis.Occurrences] = [:]
    /// The time when the incidents of each ring were last read.
    var readings_ns: [RingKey: UInt64] = [:]
    /// The rings with incidents that crashd could not store or, because of a limit, did not queue for reading.
    ///
    /// `readUnannounced` reads these rings.
    var unread: Set<RingKey> = []
    /// The rings whose announced incidents are queued for reading.
    ///
    /// `waitingCounts` contains the number of these rings for each account (the uids that share limits).
    var waiting: Set<RingKey> = []
    var waitingCounts: [UInt32: Int] = [:]
    /// The rings whose last process has ended, oldest first.
    ///
    /// A ring in this list has a process again if a process has attached with the same ring since then.
    var left: [RingKey] = []
  }

  private let state = Mutex(State())
  /// The maximum number of rings without a process whose stored incidents are remembered.
  private static let leftLimit = 1_024

  func add(_ ring: RingKey) { state.withLock { $0.counts[ring, default: 0] += 1 } }

  func remove(_ ring: RingKey) {
    state.withLock { state in
      state.counts[ring] = state.counts[ring].flatMap { $0 > 1 ? $0 - 1 : nil }
      guard state.counts[ring] == nil else { return }
      state.readings_ns[ring] = nil
      state.unread.remove(ring)
      guard state.occurrences[ring] != nil else { return }
      state.left.append(ring)
      while state.left.count > Self.leftLimit {
        let oldest = state.left.removeFirst()
        if state.counts[oldest] == nil { state.occurrences[oldest] = nil }
      }
    }
  }

  func contains(_ ring: RingKey) -> Bool { state.withLock { $0.counts[ring] != nil } }

  func occurrences(of ring: RingKey) -> CrashAnalysis.Occurrences { state.withLock { $0.occurrences[ring] ?? [:] } }

  /// Records the time at which the incidents of a ring were read, if the ring has a process.
  func noteReading(of ring: RingKey, at now_ns: UInt64 = Moment.monotonic_ns()) {
    state.withLock { state in
      state.unread.remove(ring)
      if state.counts[ring] != nil { state.readings_ns[ring] = now_ns }
    }
  }

  /// Marks a ring whose incidents crashd could not store, in case the process does not announce them again.
  ///
  /// The call has no effect if the ring has no process.
  func noteUnread(_ ring: RingKey) {
    state.withLock { state in
      if state.counts[ring] != nil { state.unread.insert(ring) }
    }
  }

  func isUnread(_ ring: RingKey) -> Bool { state.withLock { $0.unread.contains(ring) } }

  /// Marks the announced incidents of a ring as queued, until `endWaiting` is called.
  /// - Returns: The result is false if the incidents are already queued, or if `limit` rings of the account are already
  ///   queued. If the account has reached its limit, the ring is marked as unread (see `unread`).
  func beginWaiting(_ ring: RingKey, of account: UInt32, limit: Int) -> Bool {
    state.withLock { state in
      if state.waiting.contains(ring) { return false }
      guard state.waitingCounts[account, default: 0] < limit else {
        if state.counts[ring] != nil { state.unread.insert(ring) }
        return false
      }
      state.waiting.insert(ring)
      state.waitingCounts[account, default: 0] += 1
      return true
    }
  }

  func endWaiting(_ ring: RingKey, of account: UInt32) {
    state.withLock { state in
      guard state.waiting.remove(ring) != nil else { return }
      state.waitingCounts[account] = state.waitingCounts[account].flatMap { $0 > 1 ? $0 - 1 : nil }
    }
  }

  /// Returns the time that must pass before the ring's incidents are allowed to be read again.
  func incidentPause_ns(
    of ring: RingKey, _ pause_ms: Int, at now_ns: UInt64 = Moment.monotonic_ns()
  ) -> UInt64 {
    guard let last_ns = state.withLock({ $0.readings_ns[ring] }) else { return 0 }
    let end_ns = last_ns + UInt64(pause_ms) * 1_000_000
    return end_ns > now_ns ? end_ns - now_ns : 0
  }

  /// Records the incidents of a ring that were stored, if the ring has a process.
  func note(_ occurrences: CrashAnalysis.Occurrences, of ring: RingKey) {
    state.withLock { state in
      if state.counts[ring] != nil { state.occurrences[ring] = occurrences }
    }
  }
}
