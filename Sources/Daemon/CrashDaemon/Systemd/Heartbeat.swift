import Synchronization

/// The heartbeat of one loop in crashd, which shows that the loop makes progress.
///
/// The loop counts its iterations, and the watchdog checks that the count increases.
final class Heartbeat: Sendable {
  let name: String
  private let count = Atomic<UInt64>(0)
  private let rests = Atomic<Bool>(false)
  private let isAsked = Atomic<Bool>(false)

  init(_ name: String) { self.name = name }

  /// Counts one iteration of the loop.
  func beat() {
    // Ordering: all accesses in this class are relaxed, because no other data depends on these values.
    rests.store(false, ordering: .relaxed)
    isAsked.store(false, ordering: .relaxed)
    count.wrappingAdd(1, ordering: .relaxed)
  }

  /// Suspends the watchdog's check of the loop until the loop calls `beat` again.
  ///
  /// The loop calls this method before it waits for work, and before it starts work whose duration is not limited.
  func rest() { rests.store(true, ordering: .relaxed) }

  /// Calls the closure `nudge` to request an iteration, unless an iteration was already requested since the last beat.
  func ask(_ nudge: () -> Void) {
    if !isAsked.exchange(true, ordering: .relaxed) { nudge() }
  }

  var isResting: Bool { rests.load(ordering: .relaxed) }
  var beats: UInt64 { count.load(ordering: .relaxed) }
}

/// Records which loops have completed an iteration since the last watchdog notification.
struct HeartbeatBook {
  private let heartbeats: [Heartbeat]
  private var awaited: [(heartbeat: Heartbeat, beats: UInt64)] = []

  init(_ heartbeats: [Heartbeat]) {
    self.heartbeats = heartbeats
    begin()
  }

  /// The names of the loops that have not completed an iteration since the last notification.
  var late: [String] { awaited.map(\.heartbeat.name) }

  /// Reads the heartbeats of all loops that have not completed an iteration since the last notification.
  /// - Returns: The result is true if each loop has completed an iteration since `begin`, or rests (has suspended its
  ///   check).
  mutating func look() -> Bool {
    awaited.removeAll { $0.heartbeat.isResting || $0.heartbeat.beats != $0.beats }
    return awaited.isEmpty
  }

  /// Starts the next period between two notifications.
  ///
  /// Each loop must complete an iteration in this period.
  mutating func begin() { awaited = heartbeats.map { ($0, $0.beats) } }
}
