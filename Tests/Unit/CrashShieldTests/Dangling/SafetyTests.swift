import CrashShield
import CrashShieldGuards
import Dispatch
import Glibc
import Synchronization
import Testing

/// Tests that the quarantine does not break a correct program, and does not add faults to an incorrect one.
@Suite(.enabled(if: Shield.danglingUnavailableReason == nil, "the quarantine is unavailable here"))
struct SafetyTests {
  @Test("a timer with an unowned reference, canceled in deinit, never finds a freed object", arguments: 0...3)
  func timer(number: Int) async {
    await #expect(processExitsWith: .exitCode(right)) { [number] in
      if number == 3 {
        try Shield.protect(Ticker.self)
      } else {
        try Shield.protect(Ticker.self, policy: DanglingPolicy.allCases[number])
      }
      for _ in 0..<50 {
        let before = ticks.load(ordering: .sequentiallyConsistent)
        unsafe kept.append(Ticker())
        while ticks.load(ordering: .sequentiallyConsistent) == before { usleep(100) }
        Ticker.queue.sync { drop() }
      }
      check(deinitCount() == 50 && Shield.danglingIncidents().isEmpty)
      Glibc.exit(right)
    }
  }

  @Test("simultaneous over-releases are recorded, and one deinit runs", arguments: [0, 1, 2])
  func racingReleases(number: Int) async {
    await #expect(processExitsWith: .exitCode(right)) { [number] in
      // The budget has room for all objects. Therefore the quarantine evicts no object before its last use.
      Shield.setDanglingBudget(bytes: 16 << 20)
      try Shield.protect(Session.self, policy: DanglingPolicy.allCases[number], limit: 4000)
      // In debug code, Unmanaged.release() also retains the object. If this happens during the deinit on the other
      // thread, the Swift runtime ends the process ("deallocated with non-zero retain count").
      typealias Release = @convention(c) (UnsafeRawPointer) -> Void
      let release = unsafe unsafeBitCast(dlsym(nil, "swift_release"), to: Release.self)
      let rounds = 2000
      for _ in 0..<rounds {
        let reference = unsafe dangling { Session() }
        let address = unsafe UInt(bitPattern: reference.toOpaque())
        // One thread releases the only reference. The other one releases a reference that it does not own.
        DispatchQueue.concurrentPerform(iterations: 2) { thread in
          guard thread == 1 else { return drop() }
          guard let pointer = unsafe UnsafeRawPointer(bitPattern: address) else { return }
          unsafe release(pointer)
        }
        // Whichever thread performed the last release, this third release is an over-release, too.
        unsafe reference.release()
      }
      Shield.drainQuarantine()
      guard let statistics = Shield.danglingStatistics(of: Session.self) else { Glibc.exit(1) }
      check(deinitCount() == rounds && statistics.admitted == rounds && statistics.evicted == rounds)
      check(statistics.hits == 2 * rounds)
      Glibc.exit(right)
    }
  }

  @Test("a deferred deinit runs soon, even without further releases")
  func soon() async {
    await #expect(processExitsWith: .exitCode(right)) {
      try Shield.protect(Session.self, policy: .absorb, limit: 1)
      _ = unsafe dangling { Session() }
      drop()
      _ = unsafe dangling { Session() }
      drop()
      while deinitCount() == 0 { usleep(1000) }
      check(Shield.unprotect(Session.self))
      while deinitCount() == 1 { usleep(1000) }
      Glibc.exit(right)
    }
  }

  @Test("in a forked child objects are deallocated as usual, and no class is protected")
  func forkedChild() async {
    await #expect(processExitsWith: .exitCode(right)) {
      try Shield.protect(Session.self, policy: .absorb)
      _ = unsafe dangling { Session() }
      drop()
      let child = fork_()
      if child == 0 {
        let before = deinitCount()
        _ = unsafe dangling { Session() }
        drop()
        Shield.drainQuarantine()
        let isRefused = (try? Shield.protect(Guest.self)) == nil
        _exit(deinitCount() == before + 1 && isRefused && !Shield.unprotect(Session.self) ? 0 : 1)
      }
      var status: Int32 = -1
      check(unsafe waitpid(child, &status, 0) == child && status == 0)
      Glibc.exit(right)
    }
  }

  @Test(
    "if an actor's own job releases it last, the job's later write to the actor is no incident", arguments: [0, 1, 2])
  func actorsJob(number: Int) async {
    await #expect(processExitsWith: .exitCode(right)) { [number] in
      try Shield.protect(Lonely.self, policy: DanglingPolicy.allCases[number], limit: 10)
      for _ in 0..<200 { check(await Lonely().start().value == 2) }
      Shield.drainQuarantine()
      check(Shield.danglingIncidents().isEmpty)
      guard let statistics = Shield.danglingStatistics(of: Lonely.self) else { Glibc.exit(1) }
      check(statistics.admitted + statistics.skipped.isolated > 0 && statistics.admitted == statistics.evicted)
      Glibc.exit(right)
    }
  }

  @Test(
    "an isolated deinit of a protected class runs once, on its actor, with its fields intact", arguments: [0, 1, 2])
  func isolatedDeinit(number: Int) async {
    await #expect(processExitsWith: .exitCode(right)) { [number] in
      try Shield.protect(Isolated.self, policy: DanglingPolicy.allCases[number], limit: 5)
      for _ in 0..<100 {
        unsafe kept.append(await Isolated.make())
        drop()
      }
      if number == 0 { Shield.drainQuarantine() }
      while deinitCount() < 100 { await Task.yield() }
      Shield.drainQuarantine()
      guard let statistics = Shield.danglingStatistics(of: Isolated.self) else { Glibc.exit(1) }
      check(deinitCount() == 100 && isolatedSum.load(ordering: .sequentiallyConsistent) == 700)
      check(statistics.admitted == statistics.evicted && Shield.danglingIncidents().isEmpty)
      check(number == 0 || statistics.admitted + statistics.skipped.isolated == 100)
      Glibc.exit(right)
    }
  }

  @Test("a release leaves errno unchanged, including a thread's first release")
  func errorNumber() async {
    await #expect(processExitsWith: .exitCode(right)) {
      try Shield.protect(Session.self, policy: .absorb, limit: 1)
      onThreads(1) { _ in
        for _ in 0..<300 {
          _ = unsafe dangling { Session() }
          errno = 77
          drop()
          check(errno == 77)
        }
      }
      Glibc.exit(right)
    }
  }

  @Test("Shield.liveness does not crash if the memory at the address is unmapped during the call")
  func vanishing() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let size = 4096
      guard let page = unsafe mmap(nil, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) else { Glibc.exit(1) }
      let address = UInt(bitPattern: page)
      let isDone = Atomic<Bool>(false)
      let live = unsafe UInt(bitPattern: dangling { Session() }.toOpaque())
      onThreads(2) { index in
        guard let page = unsafe UnsafeMutableRawPointer(bitPattern: address),
          let object = unsafe UnsafeRawPointer(bitPattern: live)
        else { return }
        if index == 0 {
          for _ in 0..<20_000 { _ = unsafe Shield.liveness(of: page + 64) }
          isDone.store(true, ordering: .sequentiallyConsistent)
          return
        }
        // A copy of class metadata with one invalid word. If all words were valid, Shield.liveness would treat the copy
        // as a class, and read its name.
        let almost = UnsafeMutableRawPointer.allocate(byteCount: 80, alignment: 16)
        let metadata = unsafe object.load(as: UnsafeRawPointer.self)
        unsafe almost.copyMemory(from: metadata - 16, byteCount: 80)
        unsafe (almost + 16 + 24).storeBytes(of: 0, as: UInt32.self)
        while !isDone.load(ordering: .sequentiallyConsistent) {
          // Puts an object and its metadata on the page, and then makes the page inaccessible.
          unsafe mprotect(page, size, PROT_READ | PROT_WRITE)
          unsafe (page + 1024 - 16).copyMemory(from: almost, byteCount: 80)
          unsafe (page + 64).storeBytes(of: page + 1024, as: UnsafeMutableRawPointer.self)
          unsafe (page + 72).storeBytes(of: 3, as: UInt.self)
          unsafe mprotect(page, size, PROT_NONE)
        }
      }
      drop()
      Glibc.exit(right)
    }
  }

  @Test("the budget bounds the bytes in quarantine when objects grow, when the budget shrinks and after a drain")
  func budget() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let budget = 64 * 1024
      Shield.setDanglingBudget(bytes: budget)
      try Shield.protect(Tail.self, policy: .zero, limit: 100)
      for size in [1, 1000, 100_000, 1000] {
        for _ in 0..<300 {
          unsafe kept.append(Tail.create(minimumCapacity: size) { _ in 0 })
          drop()
          check(Shield.danglingBytes <= budget)
        }
        if size == 1000 {
          check(Shield.danglingBytes > budget / 2)
          Shield.drainQuarantine()
          check(Shield.danglingBytes == 0)
        }
      }
      for _ in 0..<100 {
        unsafe kept.append(Tail.create(minimumCapacity: 100) { _ in 0 })
        drop()
      }
      let before = Shield.danglingBytes
      Shield.setDanglingBudget(bytes: before / 2)
      for _ in 0..<100 {
        unsafe kept.append(Tail.create(minimumCapacity: 100) { _ in 0 })
        drop()
      }
      check(before > 10_000 && Shield.danglingBytes <= before / 2)
      Glibc.exit(right)
    }
  }
}

/// The number of times that the timers of all tickers have fired.
private let ticks = Atomic<Int>(0)

/// A class without a defect: its timer cannot outlive the object.
///
/// The last release must be on the timer's own queue. On another queue, the timer could fire between the start of the
/// deinit and `cancel`.
private final class Ticker {
  static let queue = DispatchQueue(label: "ticker")

  private let timer = DispatchSource.makeTimerSource(queue: queue)
  private var count = 0

  init() {
    timer.setEventHandler { [unowned self] in
      count += 1
      ticks.add(1, ordering: .sequentiallyConsistent)
    }
    timer.schedule(deadline: .now(), repeating: .microseconds(100))
    timer.activate()
  }

  deinit {
    timer.cancel()
    countDeinit()
  }
}

/// Objects of one class with many sizes.
private final class Tail: ManagedBuffer<Int, Int> {}

private let isolatedSum = Atomic<Int>(0)

/// A class whose deinit runs later, on the main actor.
@MainActor
private final class Isolated {
  private let number = 7
  private var other: Session?
  static func make() -> Isolated { Isolated() }

  isolated deinit {
    isolatedSum.add(number, ordering: .sequentiallyConsistent)
    countDeinit()
  }
}

/// An actor that only its own job references.
private actor Lonely {
  var count = 1
  /// Starts a job that runs on the actor, and releases the actor there when it ends.
  func start() -> Task<Int, Never> {
    Task {
      count += 1
      return count
    }
  }
}

/// `fork`, which Swift marks as unavailable.
@_silgen_name("fork")
private func fork_() -> pid_t
