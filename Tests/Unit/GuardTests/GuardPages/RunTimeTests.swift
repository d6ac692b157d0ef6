import CrashShield
import CrashShieldGuards
import CrashShieldGuardPages
import Glibc
import Synchronization
import Testing

@Suite("Guard slots at run time", .enabled(if: isInterposed, "malloc is not interposed here"))
struct RunTimeTests {
  @Test("without a started shield no object is guarded, and the reason is available")
  func notStarted() async {
    await #expect(processExitsWith: .exitCode(right)) {
      check(GuardPages.unavailableReason?.contains("not started") == true)
      do throws(GuardPagesError) {
        try GuardPages.protect(Session.self)
        Glibc.exit(1)
      } catch {
        check("\(error)".contains("not started"))
      }
      _ = unsafe dangling { Session() }
      check(GuardPages.statistics.allocated == 0)
      Glibc.exit(right)
    }
  }

  @Test("classes larger than a page are refused for guard slots")
  func unsuitable() async {
    await #expect(processExitsWith: .exitCode(right)) {
      start()
      check((try? GuardPages.protect(Huge.self)) == nil && !GuardPages.unprotect(Huge.self))
      try GuardPages.protect(Session.self)
      check(GuardPages.unprotect(Session.self) && !GuardPages.unprotect(Session.self))
      _ = unsafe dangling { Session() }
      check(GuardPages.statistics.allocated == 0)
      Glibc.exit(right)
    }
  }

  @Test("S11: a class with tail-allocated elements is refused for guard slots, with the reason")
  func tailAllocated() async {
    await #expect(processExitsWith: .exitCode(right)) {
      start()
      do throws(GuardPagesError) {
        try GuardPages.protect(Elements.self)
        Glibc.exit(1)
      } catch {
        check(error == .tailAllocated("GuardTests.Elements") && "\(error)".contains("tail-allocated elements"))
      }
      check(!GuardPages.unprotect(Elements.self))
      Glibc.exit(right)
    }
  }

  @Test("the sample rate, the number of slots and the policy of guard slots can change at run time")
  func configured() async {
    await #expect(processExitsWith: .exitCode(right)) {
      start(Wide.self, slots: 0)
      _ = unsafe dangling { Wide() }
      check(GuardPages.statistics.allocated == 0 && GuardPages.statistics.withoutSlot > 0)
      GuardPages.configure(slots: 100, oneIn: 10)
      for _ in 0..<10_000 { _ = unsafe dangling { Wide() } }
      let drawn = GuardPages.statistics.allocated
      // About a tenth of the 10,000 objects gets a guard page: the intervals between such objects are uniform in
      // 1...19.
      check(drawn > 800 && drawn < 1200)
      let dead = unsafe (0..<300).map { _ in unsafe dangling { Wide() } }
      GuardPages.configure(slots: 10, oneIn: 1)
      // The number of slots is now 0, and the memory of the freed objects was returned to the system. Accesses to the
      // objects are still recorded with their class.
      GuardPages.configure(slots: 0, oneIn: 1)
      unsafe dead.forEach { _ = unsafe $0._withUnsafeGuaranteedRef { $0.numbers.8 } }
      let incidents = GuardPages.statistics.incidents
      check(incidents > 5 && incidents < 100)
      check(GuardPages.incidents().allSatisfy { $0.className == "GuardTests.Wide" && $0.kind == .read })
      GuardPages.configure(slots: 100, oneIn: 1)
      let before = GuardPages.statistics.allocated
      _ = unsafe dangling { Wide() }
      check(GuardPages.statistics.allocated == before + 1)
      Glibc.exit(right)
    }
  }

  @Test("guard slots are reused in the order in which they were freed")
  func order() async {
    await #expect(processExitsWith: .exitCode(right)) {
      start(Wide.self, slots: 16)
      var last: [UInt: Int] = [:]
      for round in 0..<160 {
        let place = unsafe UInt(bitPattern: dangling { Wide() }.toOpaque())
        if let before = last[place] { check(round - before == 16) }
        last[place] = round
      }
      check(last.count == 16)
      Glibc.exit(right)
    }
  }

  @Test("a guard slot is closed when its quarantined object is evicted")
  func quarantine() async {
    await #expect(processExitsWith: .exitCode(right)) {
      start(Session.self)
      try Shield.protect(Session.self, policy: .absorb)
      let dead = unsafe dangling { Session() }
      check(unsafe dead._withUnsafeGuaranteedRef { $0.greet() } == 7)
      check(Shield.danglingIncidents().count >= 1 && GuardPages.statistics.incidents == 0)
      Shield.drainQuarantine()
      check(GuardPages.statistics.guarded == 1 && deinitCount() == 1)
      check(unsafe dead._withUnsafeGuaranteedRef { $0.number } == 7)
      check(GuardPages.incidents().map(\.className) == ["GuardTests.Session"])
      Glibc.exit(right)
    }
  }

  @Test("the quarantine writes no byte behind an object whose size is not a multiple of a word", arguments: [1, 2])
  func edge(number: Int) async {
    await #expect(processExitsWith: .exitCode(right)) { [number] in
      start(Odd.self)
      try Shield.protect(Odd.self, policy: DanglingPolicy.allCases[number])
      for _ in 0..<4 { _ = unsafe dangling { Odd() } }
      check(Shield.danglingStatistics(of: Odd.self)?.admitted == 4)
      Shield.drainQuarantine()
      check(GuardPages.statistics.guarded == 4)
      check(GuardPages.incidents().isEmpty && Shield.danglingIncidents().isEmpty)
      Glibc.exit(right)
    }
  }

  @Test("while the program has its own SIGSEGV handler, pages of guard slots stay accessible")
  func replaced() async {
    await #expect(processExitsWith: .exitCode(right)) {
      start(Wide.self)
      signal(SIGSEGV, SIG_DFL)
      let dead = unsafe dangling { Wide() }
      check(unsafe dead._withUnsafeGuaranteedRef { $0.numbers.8 } == 9)
      check(GuardPages.statistics.unarmed == 1 && GuardPages.statistics.guarded == 0)
      check(GuardPages.unavailableReason?.contains("SIGSEGV") == true)
      Glibc.exit(right)
    }
  }

  @Test("a forked child keeps the guard slots, with its own counts and incidents")
  func forked() async {
    await #expect(processExitsWith: .exitCode(right)) {
      start(Session.self)
      let dead = unsafe dangling { Session() }
      let child = forkProcess()
      if child == 0 {
        check(GuardPages.statistics.allocated == 0)
        check(unsafe dead._withUnsafeGuaranteedRef { $0.number } == 7)
        let own = unsafe dangling { Session() }
        check(unsafe own._withUnsafeGuaranteedRef { $0.number } == 7)
        check(GuardPages.incidents().count == 2 && GuardPages.statistics.guarded == 1)
        _exit(right)
      }
      check(end(of: child) == right)
      check(GuardPages.incidents().isEmpty)
      check(unsafe dead._withUnsafeGuaranteedRef { $0.number } == 7 && GuardPages.incidents().count == 1)
      Glibc.exit(right)
    }
  }

  @Test("threads allocate, free, fork and use freed objects at the same time, and no object is damaged")
  func stress() async {
    await #expect(processExitsWith: .exitCode(right)) {
      start(Wide.self, slots: 64)
      inThreads(4) { number in
        for round in 0..<5_000 {
          let object = Wide()
          object.numbers.0 = number
          object.numbers.8 = round
          let pointer = unsafe Unmanaged.passRetained(object)
          check(unsafe pointer._withUnsafeGuaranteedRef { $0.numbers.0 == number && $0.numbers.8 == round })
          unsafe pointer.release()
          if number == 0, round % 500 == 0 {
            let child = forkProcess()
            if child == 0 {
              for _ in 0..<100 { _ = Wide() }
              _exit(right)
            }
            check(end(of: child) == right)
          }
          if number == 1, round % 100 == 0 { GuardPages.configure(slots: 8 + round % 57, oneIn: 1 + round / 100 % 3) }
        }
      }
      check(GuardPages.statistics.guarded > 100 && GuardPages.statistics.incidents == 0)
      Glibc.exit(right)
    }
  }

  @Test("guarded memory stays valid after its allocating thread has ended, even during the thread's destructors")
  func threadEnds() async {
    await #expect(processExitsWith: .exitCode(right)) {
      start(Wide.self)
      var key = pthread_key_t()
      // The destructor runs late in the thread's exit. It receives and frees the object that the thread has stored.
      let made = unsafe pthread_key_create(&key) { value in
        guard let value = unsafe value else { return }
        unsafe Unmanaged<Wide>.fromOpaque(value).release()
      }
      check(made == 0)
      let shared = key
      for _ in 0..<50 {
        inThreads(2) { _ in unsafe pthread_setspecific(shared, Unmanaged.passRetained(Wide()).toOpaque()) }
      }
      check(GuardPages.statistics.guarded >= 100 && GuardPages.statistics.incidents == 0)
      Glibc.exit(right)
    }
  }

  @Test("guard page memory is bounded by the number of slots")
  func bounded() async {
    await #expect(processExitsWith: .exitCode(right)) {
      start(Wide.self, slots: 512)
      let before = residentPages()
      for _ in 0..<20_000 { _ = unsafe dangling { Wide() } }
      let after = residentPages()
      // 512 pages are allowed for objects, and 256 for the records of slots, which need about 170.
      check(after - before < 512 + 256)
      GuardPages.configure(slots: 0, oneIn: 1)
      check(after - residentPages() > 400)
      Glibc.exit(right)
    }
  }
}

/// An object larger than a page.
private final class Huge {
  typealias Row = (SIMD64<Int>, SIMD64<Int>, SIMD64<Int>, SIMD64<Int>)
  var rows: (Row, Row, Row) = (Huge.row, Huge.row, Huge.row)
  private static let row = (SIMD64<Int>(), SIMD64<Int>(), SIMD64<Int>(), SIMD64<Int>())
}

/// The resident pages of this process, without shared pages.
private func residentPages() -> Int {
  guard let file = unsafe fopen("/proc/self/statm", "r") else { return 0 }
  defer { unsafe fclose(file) }
  var text = [CChar](repeating: 0, count: 256)
  guard unsafe fgets(&text, 256, file) != nil else { return 0 }
  let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
  let words = String(decoding: bytes, as: UTF8.self).split(separator: " ")
  return (Int(words[1]) ?? 0) - (Int(words[2]) ?? 0)
}
