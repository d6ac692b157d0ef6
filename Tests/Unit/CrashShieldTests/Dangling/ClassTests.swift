import CrashShield
import CrashShieldGuards
import Dispatch
import Glibc
import Testing

/// Tests which classes can be protected, and how the quarantine treats unusual objects.
@Suite(.enabled(if: Shield.danglingUnavailableReason == nil, "the quarantine is unavailable here"))
struct ClassTests {
  @Test(
    "protect() with a metatype protects a generic class, a nested class, a subclass or an actor, and no other class")
  func kinds() async {
    await #expect(processExitsWith: .exitCode(right)) {
      try Shield.protect(Box<String>.self, Outer.Nested.self, Guest.self, Counter.self, policy: .absorb)
      let box = unsafe dangling { Box("text") }
      let number = unsafe dangling { Box(1) }
      let nested = unsafe dangling { Outer.Nested() }
      let guest = unsafe dangling { Guest() as Session }
      let counter = unsafe dangling { Counter() }
      _ = unsafe dangling { Session() }
      drop()
      _ = unsafe number
      check(unsafe box._withUnsafeGuaranteedRef { $0.get() } == "text")
      check(unsafe nested._withUnsafeGuaranteedRef { $0.answer() } == 42)
      check(unsafe guest._withUnsafeGuaranteedRef { $0.greet() } == 8)
      check(await unsafe counter.takeUnretainedValue().next() == 4)
      check(Shield.danglingStatistics().count == 4)
      check(Shield.danglingStatistics().allSatisfy { $0.admitted == 1 && $0.unwatchedMethods == 0 })
      check(deinitCount() == 1)
      Glibc.exit(right)
    }
  }

  @Test("a class can be protected by its full name, even if it is nested; for a generic class there is a special error")
  func byName() async {
    await #expect(processExitsWith: .exitCode(right)) {
      check(try Shield.protect(.named("CrashShieldTests.Session")).protected == ["CrashShieldTests.Session"])
      check(try Shield.protect(.named("CrashShieldTests.Outer.Nested")).protected.count == 1)
      check(try Shield.protect(.named("CrashShieldTests.Box")).generic == ["CrashShieldTests.Box"])
      check(try Shield.protect(.named("CrashShieldTests.Absent")).protected.isEmpty)
      _ = unsafe dangling { Session() }
      _ = unsafe dangling { Outer.Nested() }
      drop()
      check(Shield.danglingStatistics().map(\.admitted) == [1, 1])
      Glibc.exit(right)
    }
  }

  @Test("a module's classes are protected, including actors, but not Swift's own classes")
  func byModule() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let result = try Shield.protect(.module("CrashShieldTests"))
      check(
        result.protected.contains("CrashShieldTests.Guest") && result.protected.contains("CrashShieldTests.Counter"))
      check(result.generic.contains("CrashShieldTests.Box") && result.failed.isEmpty)
      let own = try Shield.protect(.ownClasses)
      check(Set(own.protected).isSuperset(of: result.protected) && own.failed.isEmpty)
      check(
        !own.protected.contains { name in
          ["Swift.", "CrashShield.", "CrashShieldGuards."].contains { name.hasPrefix($0) }
        })
      _ = unsafe dangling { Counter() }
      drop()
      check(Shield.danglingStatistics(of: Counter.self)?.admitted == 1)
      Glibc.exit(right)
    }
  }

  @Test("casts, protocol conformances and class names of a quarantined object work")
  func casts() async {
    await #expect(processExitsWith: .exitCode(right)) {
      try Shield.protect(Guest.self, Session.self, policy: .absorb)
      let reference = unsafe dangling { Guest() as Session }
      let other = unsafe dangling { Session() }
      drop()
      // Does not use `is Guest`: for a final class, the compiler only compares the metadata pointer.
      let object: AnyObject = unsafe reference.takeUnretainedValue()
      let session: AnyObject = unsafe other.takeUnretainedValue()
      check(object is Session && session is Session && !(object is Counter))
      check((object as? any Greeting)?.greet() == 8)
      check("\(object)".hasSuffix("Guest"))
      Glibc.exit(right)
    }
  }

  @Test("unprotect deallocates new and quarantined objects at once, and the class can be protected again")
  func unprotect() async {
    await #expect(processExitsWith: .exitCode(right)) {
      for round in 1...20 {
        try Shield.protect(Session.self, policy: .absorb)
        _ = unsafe dangling { Session() }
        drop()
        check(deinitCount() == 2 * round - 2)
        check(Shield.unprotect(Session.self) && !Shield.unprotect(Session.self))
        // The test does not drain the quarantine: the reaper (the thread that runs deferred deinits) must evict the
        // object.
        while deinitCount() < 2 * round - 1 { usleep(1000) }
        check(deinitCount() == 2 * round - 1)
        _ = unsafe dangling { Session() }
        drop()
        check(deinitCount() == 2 * round)
      }
      check(Shield.danglingStatistics(of: Session.self)?.admitted == 20)
      Glibc.exit(right)
    }
  }

  @Test("objects released during changes of their class's protection run their deinit once")
  func changing() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let (threads, rounds) = (4, 5000)
      try Shield.protect(Session.self, policy: .absorb, limit: 5)
      DispatchQueue.concurrentPerform(iterations: threads) { thread in
        for round in 0..<rounds {
          letGo(Session())
          guard thread == 0, round % 50 == 0 else { continue }
          if round % 100 == 0 {
            Shield.unprotect(Session.self)
          } else {
            try? Shield.protect(Session.self, policy: DanglingPolicy.allCases[round / 50 % 3], limit: 5 + round % 7)
          }
        }
      }
      Shield.unprotect(Session.self)
      Shield.drainQuarantine()
      check(deinitCount() == threads * rounds)
      let statistics = Shield.danglingStatistics(of: Session.self)
      check(statistics?.admitted == statistics?.evicted && statistics?.hits == 0)
      check((statistics?.admitted ?? 0) > 100)
      Glibc.exit(right)
    }
  }

  @Test("a deinit that creates and frees objects of its own class terminates", arguments: [0, 1, 2])
  func selfMaking(number: Int) async {
    await #expect(processExitsWith: .exitCode(right)) { [number] in
      try Shield.protect(Matryoshka.self, policy: DanglingPolicy.allCases[number], limit: 3)
      for _ in 0..<100 {
        _ = unsafe dangling { Matryoshka(size: 5) }
        drop()
      }
      Shield.drainQuarantine()
      check(deinitCount() == 600)
      Glibc.exit(right)
    }
  }

  @Test("a long chain of objects is deallocated without deep recursion")
  func chain() async {
    await #expect(processExitsWith: .exitCode(right)) {
      try Shield.protect(Session.self, policy: .absorb, limit: 2)
      var first: Session? = Session()
      var last = first
      for _ in 0..<1000 {
        last?.friend = Session()
        last = last?.friend
      }
      last = nil
      first = nil
      Shield.drainQuarantine()
      check(deinitCount() == 1001)
      Glibc.exit(right)
    }
  }

  @Test("an object that escapes from its deinit ends the process as without protection", arguments: [false, true])
  func resurrection(isProtected: Bool) async {
    let result = await #expect(
      processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]
    ) { [isProtected] in
      if isProtected { try Shield.protect(Lazarus.self, policy: .zero) }
      _ = unsafe dangling { Lazarus() }
      drop()
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("Lazarus") && text.contains("non-zero retain count"))
  }

  @Test("a process that ends with objects in quarantine keeps its own exit status")
  func exit() async {
    await #expect(processExitsWith: .exitCode(right)) {
      try Shield.protect(Session.self, policy: .absorb)
      for _ in 0..<500 {
        _ = unsafe dangling { Session() }
        drop()
      }
      check(Shield.danglingStatistics(of: Session.self)?.admitted == 500 && deinitCount() < 500)
      Glibc.exit(right)
    }
  }

  @Test("an object on the stack is not quarantined")
  func onStack() async {
    await #expect(processExitsWith: .exitCode(right)) {
      try Shield.protect(Local.self, policy: .zero)
      var sum = 0
      for value in 0..<1000 { sum += Local(value).doubled() }
      check(sum == 999_000)
      guard let statistics = Shield.danglingStatistics(of: Local.self) else { Glibc.exit(1) }
      // Debug builds allocate the object on the heap. Optimized builds allocate it on the stack, where it can be
      // destroyed without a release.
      #if DEBUG
        check(statistics.admitted == 1000)
      #else
        check(statistics.admitted == 0)
      #endif
      check(statistics.hits == 0)
      Shield.drainQuarantine()
      Glibc.exit(right)
    }
  }
}

/// A class whose deinit creates another object of this class, until `size` is 0.
private final class Matryoshka {
  let size: Int
  init(size: Int) { self.size = size }
  deinit {
    countDeinit()
    if size > 0 { withExtendedLifetime(Matryoshka(size: size - 1)) {} }
  }
}

/// Releases an object that another function has created.
///
/// The object is on the heap, because the compiler can place an object on the stack only in the function that creates
/// it.
@inline(never)
private func letGo(_ object: consuming Session) { withExtendedLifetime(object) {} }

nonisolated(unsafe) private var saved: AnyObject?

/// A class whose deinit stores a reference to the deinitialized object.
private final class Lazarus {
  deinit { unsafe saved = self }
}

/// A class whose objects are referenced only by the function that creates them.
private final class Local {
  let value: Int
  init(_ value: Int) { self.value = value }
  @inline(never) func doubled() -> Int { value * 2 }
}
