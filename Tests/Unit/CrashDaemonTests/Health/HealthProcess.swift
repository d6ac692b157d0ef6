import CrashRing
import LinuxSystem
import Synchronization
import TestKit

@testable import CrashDaemon

/// A clock that the test sets.
final class HealthClock: Sendable {
  /// The times in seconds: CLOCK_MONOTONIC, and the wall clock since 1970.
  let times = Mutex<(monotonic: UInt64, wall: UInt64)>((1_000, 1_700_000_000))
  let boot = Mutex("first")

  func pass(_ seconds: UInt64) {
    times.withLock { $0 = ($0.monotonic + seconds, $0.wall + seconds) }
  }

  var clocks: HealthBook.Clocks {
    HealthBook.Clocks(
      monotonic_ns: { self.times.withLock { $0.monotonic * 1_000_000_000 } },
      wall_ns: { self.times.withLock { $0.wall * 1_000_000_000 } }, boot: boot.withLock { $0 })
  }
}

/// A process of the program `shop` of the user 1000, with a ring that the test writes.
struct HealthProcess {
  var ring: TestRing
  let memory: Descriptor
  let attached: AttachedProcess

  init(
    _ id: UInt8 = 1, build: String = "aa", number: UInt64 = 4, hadEnded: Bool = false,
    _ change: (inout TestRing) -> Void = { _ in }
  ) throws {
    var ring = TestRing(id: id)
    change(&ring)
    self.ring = ring
    memory = try ring.memory()
    let source = try RingSource(memory: memory)
    var facts = ProcessFacts(source.mapping.contents(), peer: Peer(pid: 4711, uid: 1_000), unit: nil)
    (facts.buildID, facts.unit) = (build, "shop.service")
    attached = AttachedProcess(number: number, facts: facts, ring: source, hadEnded: hadEnded)
  }

  mutating func count(begun: UInt64, finished: UInt64, failed: UInt64) throws {
    ring.countRequests(begun: begun, finished: finished, failed: failed)
    try ring.write(to: memory)
  }
}
