import CrashRing
import Synchronization

/// A ring and its owner, which together identify a spool file.
struct RingKey: Hashable, Sendable {
  var id: String
  var user: UInt32

  init(id: String, user: UInt32) { (self.id, self.user) = (id, user) }
  init(_ facts: ProcessFacts) { self.init(id: facts.identity.ringID, user: facts.peer.uid) }
}

/// The rings of attached processes.
///
/// A ring may also be in the spool directory.
final class RingTable: Sendable {
  private struct State {
    /// The number of processes per ring.
    ///
    /// A process that reconnects counts twice for a moment.
    var counts: [RingKey: Int] = [:]
    /// The stored incidents of each ring.
    ///
    /// They are kept per ring, because one ring may arrive over many connections and must be read as one ring.
    var occurrences: [RingKey: CrashAnalysis.Occurrences] = [:]
    /// The time of each ring's last incident reading.
    var readings_ns: [RingKey: UInt64] = [:]
    /// Rings with incidents that no announced reading has stored.
    ///
    /// `readUnannounced` reads these rings.
    var unread: Set<RingKey> = []
    /// Rings whose announced incidents wait to be read.
    ///
    /// `waitingCounts` has their number per account.
    var waiting: Set<RingKey> = []
    var waitingCounts: [UInt32: Int] = [:]
    /// Rings without a process, oldest first.
    ///
    /// A ring in this list may have a process again.
    var left: [RingKey] = []
  }

  private let state = Mutex(State())
  /// The maximum number of rings without a process whose incidents are remembered.
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

  /// Records that a reading of incidents begins, if the ring has a process.
  func noteReading(of ring: RingKey, at now_ns: UInt64 = Moment.monotonic_ns()) {
    state.withLock { state in
      state.unread.remove(ring)
      if state.counts[ring] != nil { state.readings_ns[ring] = now_ns }
    }
  }

  /// Marks a ring as having unstored incidents that may not be announced again, if the ring has a process.
  func noteUnread(_ ring: RingKey) {
    state.withLock { state in
      if state.counts[ring] != nil { state.unread.insert(ring) }
    }
  }

  func isUnread(_ ring: RingKey) -> Bool { state.withLock { $0.unread.contains(ring) } }

  /// Queues a ring's announced incidents until `endWaiting`.
  /// - Returns: False if the incidents already wait, or if `limit` rings of the account wait. In the second case the
  ///   ring is marked as unread.
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

  /// Returns the time that must pass before the ring's incidents may be read again.
  func incidentPause_ns(
    of ring: RingKey, _ pause_ms: Int, at now_ns: UInt64 = Moment.monotonic_ns()
  ) -> UInt64 {
    guard let last_ns = state.withLock({ $0.readings_ns[ring] }) else { return 0 }
    let end_ns = last_ns + UInt64(pause_ms) * 1_000_000
    return end_ns > now_ns ? end_ns - now_ns : 0
  }

  /// Records the stored incidents of a ring, if the ring has a process.
  func note(_ occurrences: CrashAnalysis.Occurrences, of ring: RingKey) {
    state.withLock { state in
      if state.counts[ring] != nil { state.occurrences[ring] = occurrences }
    }
  }
}
