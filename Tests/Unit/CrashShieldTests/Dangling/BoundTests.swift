import CrashShield
import CrashShieldGuards
import Glibc
import Synchronization
import Testing

/// Tests how many objects the quarantine holds, and which errors it detects when it evicts an object.
@Suite(.enabled(if: Shield.danglingUnavailableReason == nil, "the quarantine is unavailable here"))
struct BoundTests {
  @Test("absorb: the quarantine holds at most 1.2 times its limit, and 1,024 objects with pending deinits")
  func waiting() async {
    await #expect(processExitsWith: .exitCode(right)) {
      unsafe Blocking.releaser = pthread_self()
      Shield.setDanglingBudget(bytes: 16 << 20)
      try Shield.protect(Blocking.self, policy: .absorb, limit: 50)
      for _ in 0..<5000 {
        _ = unsafe dangling { Blocking() }
        drop()
      }
      guard let statistics = Shield.danglingStatistics(of: Blocking.self) else { Glibc.exit(1) }
      // The first deinit blocks the reaper (the thread that runs deferred deinits). When the reaper's queue is full,
      // the remaining deinits run on this thread.
      check(statistics.admitted == 60 + 1024 && statistics.evicted <= 1)
      check(statistics.skipped.busy == 5000 - 60 - 1024)
      Blocking.isOpen.store(true, ordering: .sequentiallyConsistent)
      Shield.drainQuarantine()
      check(deinitCount() == 5000)
      Glibc.exit(right)
    }
  }

  @Test("the quarantine holds at most a class's limit plus a fifth")
  func limit() async {
    await #expect(processExitsWith: .exitCode(right)) {
      try Shield.protect(Session.self, policy: .zero, limit: 50)
      for _ in 0..<10_000 { _ = unsafe dangling { Session() } }
      drop()
      for _ in 0..<10_000 {
        _ = unsafe dangling { Session() }
        drop()
      }
      guard let statistics = Shield.danglingStatistics(of: Session.self) else { Glibc.exit(1) }
      check(statistics.admitted == 20_000 && statistics.admitted - statistics.evicted == 60)
      check(deinitCount() == 20_000)
      Shield.drainQuarantine()
      check(Shield.danglingStatistics(of: Session.self)?.evicted == 20_000)
      Glibc.exit(right)
    }
  }

  @Test("absorb: each deinit runs exactly once, even if more objects are freed than the quarantine holds")
  func deferredDeinits() async {
    await #expect(processExitsWith: .exitCode(right)) {
      try Shield.protect(Session.self, policy: .absorb, limit: 10)
      for _ in 0..<20_000 {
        _ = unsafe dangling { Session() }
        drop()
      }
      Shield.drainQuarantine()
      guard let statistics = Shield.danglingStatistics(of: Session.self) else { Glibc.exit(1) }
      check(deinitCount() == 20_000)
      check(statistics.admitted == statistics.evicted)
      check(statistics.admitted + statistics.skipped.busy == 20_000)
      Glibc.exit(right)
    }
  }

  @Test("when the budget is used up, a new object evicts an older one; a budget of 0 admits no object")
  func budget() async {
    await #expect(processExitsWith: .exitCode(right)) {
      Shield.setDanglingBudget(bytes: 10 * 128)
      try Shield.protect(Session.self, policy: .zero, limit: 1000)
      try Shield.protect(Guest.self, policy: .zero, limit: 1000)
      for _ in 0..<1000 {
        _ = unsafe dangling { Session() }
        drop()
      }
      guard let statistics = Shield.danglingStatistics(of: Session.self) else { Glibc.exit(1) }
      let held = statistics.admitted - statistics.evicted
      check(held > 5 && held < 20)
      _ = unsafe dangling { Guest() }
      drop()
      check(Shield.danglingStatistics(of: Guest.self)?.skipped.budget == 1)
      check(Shield.danglingStatistics(of: Guest.self)?.admitted == 0)
      Glibc.exit(right)
    }
  }

  @Test("the quarantine charges each object's real size, including tail-allocated elements", arguments: [1, 2])
  func sizes(number: Int) async {
    await #expect(processExitsWith: .exitCode(right)) { [number] in
      Shield.setDanglingBudget(bytes: 64 << 20)
      try Shield.protect(Tailed.self, policy: DanglingPolicy.allCases[number], limit: 50)
      // Releases so many objects that in the end each slot of the quarantine's sampled part contains one of them.
      func passes(_ elements: Int) {
        for _ in 0..<10_000 {
          _ = unsafe dangling { Tailed.create(minimumCapacity: elements) { _ in (1, 2) } }
          drop()
        }
      }
      passes(4000)
      let large = Shield.danglingBytes
      check(large > 50 * 32_000 && large < 60 * 33_000)
      passes(4)
      Shield.drainQuarantine()
      check(Shield.danglingBytes == 0)
      // The quarantine charges sizes in units. The objects of the next call are larger than one unit, and those of the
      // call after it are smaller.
      passes(50_000)
      check(Shield.danglingBytes > 50 * 400_000 && Shield.danglingBytes < 60 * 420_000)
      passes(4)
      check(Shield.danglingBytes < large / 10)
      Glibc.exit(right)
    }
  }

  @Test("a policy change while objects are in quarantine omits no deinit and reports no false incident")
  func policies() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let policies: [DanglingPolicy] = [.absorb, .zero, .diagnose, .absorb, .diagnose, .zero, .absorb]
      for policy in policies {
        try Shield.protect(Pair.self, policy: policy, limit: 50)
        for _ in 0..<2000 {
          _ = unsafe dangling { Pair() }
          drop()
        }
      }
      Shield.drainQuarantine()
      check(deinitCount() == 2000 * policies.count)
      check(Shield.danglingIncidents().isEmpty)
      guard let statistics = Shield.danglingStatistics(of: Pair.self) else { Glibc.exit(1) }
      check(statistics.admitted == statistics.evicted && Shield.danglingBytes == 0)
      Glibc.exit(right)
    }
  }

  @Test(
    "if an object in quarantine was retained more often than released, its eviction records an incident",
    arguments: [0, 1, 2])
  func drift(number: Int) async {
    await #expect(processExitsWith: .exitCode(right)) { [number] in
      try Shield.protect(Session.self, policy: DanglingPolicy.allCases[number])
      let reference = unsafe dangling { Session() }
      drop()
      _ = unsafe reference.retain()
      _ = unsafe reference.retain()
      Shield.drainQuarantine()
      let incidents = Shield.danglingIncidents()
      check(incidents.count == 1 && incidents[0].kind == .retains(2))
      check(!incidents[0].release.frames.isEmpty && deinitCount() == 1)
      Glibc.exit(right)
    }
  }

  @Test("a retained object is not evicted until it is released", arguments: [1, 2])
  func inUse(number: Int) async {
    await #expect(processExitsWith: .exitCode(right)) { [number] in
      try Shield.protect(Session.self, policy: DanglingPolicy.allCases[number], limit: 1)
      let reference = unsafe dangling { Session() }
      drop()
      _ = unsafe reference.retain()
      _ = unsafe dangling { Session() }
      drop()
      check(Shield.danglingStatistics(of: Session.self)?.skipped.busy == 1 && Shield.danglingIncidents().isEmpty)
      guard case .quarantined = unsafe Shield.liveness(of: reference.toOpaque()) else { Glibc.exit(1) }
      unsafe reference.release()
      _ = unsafe dangling { Session() }
      drop()
      check(Shield.danglingStatistics(of: Session.self)?.evicted == 1 && Shield.danglingIncidents().isEmpty)
      // When the quarantine tries to evict this object, the object is still retained.
      let other = unsafe dangling { Session() }
      drop()
      _ = unsafe other.retain()
      for _ in 0..<2 {
        _ = unsafe dangling { Session() }
        drop()
      }
      check(Shield.danglingIncidents().map(\.kind) == [.retains(1)] && deinitCount() == 6)
      Glibc.exit(right)
    }
  }

  @Test("an over-release is recorded, and runs no deinit twice", arguments: [0, 1, 2])
  func overRelease(number: Int) async {
    await #expect(processExitsWith: .exitCode(right)) { [number] in
      try Shield.protect(Session.self, policy: DanglingPolicy.allCases[number])
      let reference = unsafe dangling { Session() }
      drop()
      for _ in 0..<3 { unsafe reference.release() }
      let incidents = Shield.danglingIncidents().filter { $0.kind == .overRelease }
      check(incidents.reduce(0) { $0 + $1.count } == 3)
      Shield.drainQuarantine()
      check(deinitCount() == 1)
      Glibc.exit(right)
    }
  }

  @Test("a write to a freed object's field is detected at its eviction", arguments: [0, 1, 2])
  func write(number: Int) async {
    await #expect(processExitsWith: .exitCode(right)) { [number] in
      try Shield.protect(Session.self, policy: DanglingPolicy.allCases[number])
      let reference = unsafe dangling { Session() }
      drop()
      // The first field follows the metadata pointer and the reference counts.
      unsafe reference.toOpaque().storeBytes(of: 8, toByteOffset: 16, as: Int.self)
      Shield.drainQuarantine()
      let incidents = Shield.danglingIncidents()
      check(incidents.count == 1 && incidents[0].kind == .write && incidents[0].className.hasSuffix(".Session"))
      Glibc.exit(right)
    }
  }

  @Test("a record never shows the release stack of an object that used the same slot earlier")
  func slotReuse() async {
    await #expect(processExitsWith: .exitCode(right)) {
      try Shield.protect(Session.self, policy: .zero, limit: 1)
      var expected: [[UInt]] = [[], [], []]
      for round in 0..<3000 {
        // Releases the objects in one of three ways, each with its own stack. The limit is 1, so all objects use the
        // same slot.
        let pointer = unsafe dropped(inWay: round % 3)
        guard case .quarantined(let record) = unsafe Shield.liveness(of: pointer) else { Glibc.exit(1) }
        if round < 3 { expected[round] = record.release.frames }
        check(record.release.frames == expected[round % 3])
      }
      check(Set(expected).count == 3 && expected.allSatisfy { $0.count >= 8 })
      Glibc.exit(right)
    }
  }
}

/// A class whose deinit waits until the test opens it, except on the thread `releaser`.
private final class Blocking {
  static let isOpen = Atomic<Bool>(false)
  /// The thread that releases the objects.
  ///
  /// On this thread, a deinit does not wait.
  ///
  /// Invariant: the variable is written before the first release.
  nonisolated(unsafe) static var releaser = pthread_t()
  deinit {
    while unsafe pthread_self() != Blocking.releaser, !Blocking.isOpen.load(ordering: .sequentiallyConsistent) {
      usleep(1000)
    }
    countDeinit()
  }
}

/// Creates an object, releases it in one of three ways, and returns its address.
@inline(never)
private func dropped(inWay way: Int) -> UnsafeMutableRawPointer {
  let reference = unsafe dangling { Session() }
  switch way {
  case 0: drop()
  case 1: dropDeeper()
  default: dropDeepest()
  }
  return unsafe reference.toOpaque()
}

@inline(never)
private func dropDeeper() {
  drop()
  unsafe kept.reserveCapacity(1)
}

@inline(never)
private func dropDeepest() {
  dropDeeper()
  unsafe kept.reserveCapacity(1)
}

/// A class with two fields that are zero: the policy `zero` does not change its objects, so no use is an incident.
private final class Pair {
  var first = 0
  var second = 0
  deinit { countDeinit() }
}

/// Objects of many sizes, with tail-allocated elements after two words.
private final class Tailed: ManagedBuffer<(Int, Int), Int> {}
