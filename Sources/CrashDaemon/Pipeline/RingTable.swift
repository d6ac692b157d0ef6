import CrashRing
import Synchronization

/// A ring and whose it is: what a spool file is known by.
struct RingKey: Hashable, Sendable {
  var id: String
  var user: UInt32

  init(id: String, user: UInt32) { (self.id, self.user) = (id, user) }
  init(_ facts: ProcessFacts) { self.init(id: facts.identity.ringID, user: facts.peer.uid) }
}

/// The rings of attached processes, each of which may also stand in the spool directory.
final class RingTable: Sendable {
  /// How many processes have each: one that connects again is two for a moment.
  private let counts = Mutex<[RingKey: Int]>([:])

  func add(_ ring: RingKey) { counts.withLock { $0[ring, default: 0] += 1 } }

  func remove(_ ring: RingKey) {
    counts.withLock { counts in counts[ring] = counts[ring].flatMap { $0 > 1 ? $0 - 1 : nil } }
  }

  func contains(_ ring: RingKey) -> Bool { counts.withLock { $0[ring] != nil } }
}
