import Synchronization

/// What shows that one of crashd's loops moves: the loop counts its turns, the watchdog looks.
final class Pulse: Sendable {
  let name: String
  private let count = Atomic<UInt64>(0)
  private let rests = Atomic<Bool>(false)
  private let isAsked = Atomic<Bool>(false)

  init(_ name: String) { self.name = name }

  /// The loop has done something.
  func beat() {
    // Relaxed, as all here: nothing else is read because of these.
    rests.store(false, ordering: .relaxed)
    isAsked.store(false, ordering: .relaxed)
    count.wrappingAdd(1, ordering: .relaxed)
  }

  /// Until its next beat nobody expects the loop to move: it waits for work, or has a piece of work that takes as long
  /// as it takes.
  func rest() { rests.store(true, ordering: .relaxed) }

  /// Has the loop make a turn, unless it was asked since its last one.
  func ask(_ nudge: () -> Void) {
    if !isAsked.exchange(true, ordering: .relaxed) { nudge() }
  }

  var isResting: Bool { rests.load(ordering: .relaxed) }
  var beats: UInt64 { count.load(ordering: .relaxed) }
}

/// Which loops have moved since systemd was told last.
struct PulseBook {
  private let pulses: [Pulse]
  private var awaited: [(pulse: Pulse, beats: UInt64)] = []

  init(_ pulses: [Pulse]) {
    self.pulses = pulses
    begin()
  }

  /// Those that have not moved, by their names.
  var late: [String] { awaited.map(\.pulse.name) }

  /// Looks at all of them.
  /// - Returns: Whether each has moved, or was seen to rest.
  mutating func look() -> Bool {
    awaited.removeAll { $0.pulse.isResting || $0.pulse.beats != $0.beats }
    return awaited.isEmpty
  }

  /// Systemd is told: each is to move again.
  mutating func begin() { awaited = pulses.map { ($0, $0.beats) } }
}
