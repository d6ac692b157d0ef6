import Synchronization

/// The heartbeat of one of crashd's loops: the loop counts its turns, the watchdog reads the count.
final class Heartbeat: Sendable {
  let name: String
  private let count = Atomic<UInt64>(0)
  private let rests = Atomic<Bool>(false)
  private let isAsked = Atomic<Bool>(false)

  init(_ name: String) { self.name = name }

  /// Counts a turn of the loop.
  func beat() {
    // Ordering: relaxed, as everywhere here, because no other data depend on these.
    rests.store(false, ordering: .relaxed)
    isAsked.store(false, ordering: .relaxed)
    count.wrappingAdd(1, ordering: .relaxed)
  }

  /// Suspends the expectation of a turn until the next beat: the loop waits for work, or runs one piece of unlimited
  /// length.
  func rest() { rests.store(true, ordering: .relaxed) }

  /// Requests a turn of the loop, unless one was requested since its last turn.
  func ask(_ nudge: () -> Void) {
    if !isAsked.exchange(true, ordering: .relaxed) { nudge() }
  }

  var isResting: Bool { rests.load(ordering: .relaxed) }
  var beats: UInt64 { count.load(ordering: .relaxed) }
}

/// The loops that have made a turn since the last notification of systemd.
struct HeartbeatBook {
  private let heartbeats: [Heartbeat]
  private var awaited: [(heartbeat: Heartbeat, beats: UInt64)] = []

  init(_ heartbeats: [Heartbeat]) {
    self.heartbeats = heartbeats
    begin()
  }

  /// The names of the loops that have not.
  var late: [String] { awaited.map(\.heartbeat.name) }

  /// Reads all heartbeats.
  /// - Returns: Whether each loop has made a turn, or was resting.
  mutating func look() -> Bool {
    awaited.removeAll { $0.heartbeat.isResting || $0.heartbeat.beats != $0.beats }
    return awaited.isEmpty
  }

  /// Starts the next period: each loop must make a turn again.
  mutating func begin() { awaited = heartbeats.map { ($0, $0.beats) } }
}
