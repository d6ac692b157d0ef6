import CrashShield
import CrashShieldGuards
import Glibc
import Testing

/// Tests the policies of the quarantine: absorb, zero and diagnose.
///
/// Each test uses freed objects, so it runs in its own process.
@Suite(.enabled(if: Shield.danglingUnavailableReason == nil, "the quarantine is unavailable here"))
struct PolicyTests {
  @Test("absorb: a freed object behaves as if it were not freed, and each use is recorded")
  func absorb() async {
    await #expect(processExitsWith: .exitCode(right)) {
      try Shield.protect(Session.self, policy: .absorb)
      let reference = unsafe dangling { Session() }
      drop()
      check(deinitCount() == 0)
      check(unsafe reference._withUnsafeGuaranteedRef { $0.greet() } == 7)
      check(unsafe reference._withUnsafeGuaranteedRef { $0.label() } == "seven")
      check(unsafe reference._withUnsafeGuaranteedRef { $0.scale() } == 3.5)
      let calls = Shield.danglingIncidents().filter { $0.kind == .call }
      // At least three, because the call of a virtual getter within one of these methods is a separate use.
      check(calls.count >= 3 && calls.allSatisfy { $0.className == "CrashShieldTests.Session" && $0.count == 1 })
      Shield.drainQuarantine()
      check(deinitCount() == 1)
      Glibc.exit(right)
    }
  }

  @Test("zero: the deinit runs, and calls on the freed object return zero, an empty string and nil")
  func zero() async {
    await #expect(processExitsWith: .exitCode(right)) {
      try Shield.protect(Session.self, policy: .zero)
      let reference = unsafe dangling { Session() }
      drop()
      check(deinitCount() == 1)
      check(unsafe reference._withUnsafeGuaranteedRef { $0.greet() } == 0)
      check(unsafe reference._withUnsafeGuaranteedRef { $0.label() } == "")
      check(unsafe reference._withUnsafeGuaranteedRef { $0.scale() } == 0)
      check(unsafe reference._withUnsafeGuaranteedRef { $0.friend } == nil)
      check((try? unsafe reference._withUnsafeGuaranteedRef { try $0.fail() }) == 0)
      Shield.drainQuarantine()
      check(deinitCount() == 1)
      Glibc.exit(right)
    }
  }

  @Test("diagnose: the freed object's fields contain the number of its record")
  func diagnose() async {
    await #expect(processExitsWith: .exitCode(right)) {
      try Shield.protect(Session.self, policy: .diagnose)
      let reference = unsafe dangling { Session() }
      drop()
      check(deinitCount() == 1)
      let value = UInt64(bitPattern: Int64(unsafe reference._withUnsafeGuaranteedRef { $0.greet() }))
      let record = Shield.danglingIncidents().first?.record
      check(value >> 48 == 0xEFED && value & 0xC000 == 0x8000)
      check(UInt32(truncatingIfNeeded: value >> 16) == record)
      Glibc.exit(right)
    }
  }

  @Test(
    "a freed object's async method resumes its caller under each policy", arguments: DanglingPolicy.allCases.indices)
  func asynchronous(number: Int) async {
    await #expect(processExitsWith: .exitCode(right)) { [number] in
      let policy = DanglingPolicy.allCases[number]
      try Shield.protect(Session.self, policy: policy)
      let reference = unsafe dangling { Session() }
      drop()
      let strong = unsafe reference.takeUnretainedValue()
      let result = await strong.later()
      switch policy {
      case .absorb: check(result == 7)
      case .zero: check(result == 0)
      case .diagnose: check(result != 7)
      }
      check(Shield.danglingIncidents().contains { $0.kind == .asyncCall })
      Glibc.exit(right)
    }
  }

  @Test(
    "weak references to a freed object become nil at once under each policy",
    arguments: DanglingPolicy.allCases.indices)
  func weakReferences(number: Int) async {
    await #expect(processExitsWith: .exitCode(right)) { [number] in
      try Shield.protect(Session.self, policy: DanglingPolicy.allCases[number])
      var object: Session? = Session()
      weak let reference = object
      check(reference != nil)
      object = nil
      check(reference == nil)
      check(Shield.danglingStatistics(of: Session.self)?.admitted == 1)
      Shield.drainQuarantine()
      check(reference == nil)
      check(deinitCount() == 1)
      Glibc.exit(right)
    }
  }

  @Test(
    "a dangling unowned reference to a protected class's object traps as in Swift",
    arguments: DanglingPolicy.allCases.indices)
  func unownedReferences(number: Int) async {
    let result = await #expect(
      processExitsWith: .signal(SIGABRT), observing: [\.standardErrorContent]
    ) { [number] in
      try Shield.protect(Session.self, policy: DanglingPolicy.allCases[number])
      let read = unownedReader()
      drop()
      // An object with an unowned reference does not enter the quarantine: Swift itself checks this reference, and
      // traps.
      check(Shield.danglingStatistics(of: Session.self)?.skipped.unowned == 1)
      Glibc.exit(Int32(truncatingIfNeeded: read()))
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("unowned reference"))
  }

  @Test("an object's memory is freed after its eviction and after the end of its unowned references")
  func unownedBalance() async {
    await #expect(processExitsWith: .exitCode(right)) {
      try Shield.protect(Session.self, policy: .absorb)
      for _ in 0..<1000 {
        let read = unownedReader()
        check(read() == 7)
        drop()
      }
      Shield.drainQuarantine()
      let statistics = Shield.danglingStatistics(of: Session.self)
      check(statistics?.admitted == statistics?.evicted)
      check(statistics?.hits == 0)
      check(deinitCount() == 1000)
      Glibc.exit(right)
    }
  }
}
