import CrashShield
import CrashShieldGuardPages
import Glibc
import Testing

@Suite("Uses of freed objects on guard pages", .enabled(if: isInterposed, "malloc is not interposed here"))
struct AccessTests {
  @Test("a read of a freed object returns its value and is recorded with class, age and three stacks")
  func read() async {
    await #expect(processExitsWith: .exitCode(right)) {
      start(Session.self)
      let dead = unsafe dangling { Session() }
      check(deinitCount() == 1)
      check(unsafe dead.toOpaque().load(fromByteOffset: 16, as: Int.self) == 7)
      let incidents = GuardPages.incidents()
      check(incidents.count == 1 && GuardPages.statistics.incidents == 1 && GuardPages.statistics.opened == 1)
      let incident = incidents[0]
      check(incident.kind == .read && incident.className == "GuardTests.Session" && !incident.isFatal)
      check(incident.offset == 16 && incident.bytes == 40 && incident.count == 1)
      check(unsafe incident.object == UInt(bitPattern: dead.toOpaque()))
      check((incident.age ?? .zero) > .zero && (incident.age ?? .zero) < .seconds(600))
      for stack in [incident.use, incident.release, incident.allocation] {
        check(stack.frames.count >= 4 && stack.thread == incident.use.thread && stack.thread != nil)
      }
      check(incident.release.frames != incident.allocation.frames)
      // The first access has opened the page, so this second access causes no fault, and is not counted.
      check(unsafe dead._withUnsafeGuaranteedRef { $0.number } == 7 && GuardPages.statistics.incidents == 1)
      Glibc.exit(right)
    }
  }

  @Test("S8: the stacks of use, release and allocation continue with the awaiting async functions")
  func asyncCallers() async {
    await #expect(processExitsWith: .exitCode(right)) {
      start(Session.self)
      let box = Box()
      await Self.waiting(2) { box.session = Session() }
      let dead = unsafe Unmanaged.passUnretained(box.session ?? Session())
      await Self.waiting(3) { box.session = nil }
      await Self.waiting(4) { check(unsafe dead.toOpaque().load(fromByteOffset: 16, as: Int.self) == 7) }
      let incident = GuardPages.incidents().first
      check(incident.map { Self.waiters(in: $0.use.frames) } == 4)
      check(incident.map { Self.waiters(in: $0.release.frames) } == 3)
      check(incident.map { Self.waiters(in: $0.allocation.frames) } == 2)
      Glibc.exit(right)
    }
  }

  private final class Box { var session: Session? }

  /// Calls the body below `depth` nested calls of this function, each of which awaits the next one.
  @inline(never)
  private static func waiting(_ depth: Int, _ body: () async -> Void) async {
    if depth == 0 { return await body() }
    await waiting(depth - 1, body)
    withExtendedLifetime(depth) {}
  }

  /// Returns how often the most frequent continuation occurs in the frames.
  ///
  /// A continuation is where an awaiting function resumes. The address in a continuation's frame is the entry address
  /// plus 1, so it is odd.
  private static func waiters(in frames: [UInt]) -> Int {
    Dictionary(grouping: frames.filter { $0 % 2 == 1 }) { $0 }.values.map(\.count).max() ?? 0
  }

  @Test("a write to a freed object is recorded as a write, and changes the memory")
  func write() async {
    await #expect(processExitsWith: .exitCode(right)) {
      start(Session.self)
      let dead = unsafe dangling { Session() }
      unsafe dead.toOpaque().storeBytes(of: 8, toByteOffset: 16, as: Int.self)
      check(unsafe dead._withUnsafeGuaranteedRef { $0.number } == 8)
      check(GuardPages.incidents().map(\.kind) == [.write])
      Glibc.exit(right)
    }
  }

  @Test("over-releases run no second deinit, and calls on the freed object still find its methods")
  func release() async {
    await #expect(processExitsWith: .exitCode(right)) {
      start(Session.self)
      let dead = unsafe dangling { Session() }
      for _ in 0..<3 { unsafe dead.release() }
      _ = unsafe dead.retain()
      check(unsafe deinitCount() == 1 && dead._withUnsafeGuaranteedRef { $0.greet() } == 7)
      check(GuardPages.incidents().count == 1 && GuardPages.incidents()[0].offset == 8)
      Glibc.exit(right)
    }
  }

  @Test("uses of different objects at one call site are counted, and each shows the release stack of its own object")
  func slotReuse() async {
    await #expect(processExitsWith: .exitCode(right)) {
      start(Session.self, slots: 64)
      // Releases objects by two paths with different stacks, so that each of the 64 slots is reused many times.
      for round in 0..<2000 {
        unsafe kept.append(Session())
        if round % 2 == 0 { drop() } else { dropDeeper() }
      }
      check(GuardPages.statistics.guarded >= 2000)
      let first = unsafe held { Session() }
      dropDeeper()
      check(unsafe first._withUnsafeGuaranteedRef { $0.number } == 7)
      let deeper = GuardPages.incidents()[0].release.frames
      let second = unsafe held { Session() }
      drop()
      check(unsafe second._withUnsafeGuaranteedRef { $0.number } == 7)
      check(GuardPages.incidents().count == 2 && GuardPages.incidents()[1].release.frames != deeper)
      Glibc.exit(right)
    }
  }

  @Test("a slot whose page an access has opened is not reused; if all slots are used up, malloc allocates the objects")
  func spent() async {
    await #expect(processExitsWith: .exitCode(right)) {
      start(Wide.self, slots: 4)
      var addresses: Set<UInt> = []
      for round in 0..<50 {
        let dead = unsafe dangling { Wide() }
        guard round < 4 else { continue }
        let isNew = unsafe addresses.insert(UInt(bitPattern: dead.toOpaque())).inserted
        check(unsafe isNew && dead._withUnsafeGuaranteedRef { $0.numbers.8 } == 9)
      }
      let counts = GuardPages.statistics
      check(counts.opened == 4 && counts.allocated == 4 && counts.withoutSlot >= 46)
      let other = unsafe held { Wide() }
      check(unsafe !addresses.contains(UInt(bitPattern: other.toOpaque())))
      Glibc.exit(right)
    }
  }

  @Test("a freed object used by several threads at once is recorded once, and the threads continue")
  func threads() async {
    await #expect(processExitsWith: .exitCode(right)) {
      start(Session.self)
      for round in 1...200 {
        let dead = unsafe dangling { Session() }
        let address = unsafe UInt(bitPattern: dead.toOpaque())
        inThreads(4) { _ in
          guard let pointer = unsafe UnsafeRawPointer(bitPattern: address) else { return }
          check(unsafe pointer.load(fromByteOffset: 16, as: Int.self) == 7)
        }
        check(GuardPages.statistics.incidents == round)
        GuardPages.configure(slots: 256 + round, oneIn: 1)
      }
      Glibc.exit(right)
    }
  }

  @Test("the policy crash ends the process at a use of a freed object")
  func crash() async {
    await #expect(processExitsWith: .signal(SIGSEGV)) {
      start(Session.self, policy: .crash)
      let dead = unsafe dangling { Session() }
      Glibc.exit(Int32(truncatingIfNeeded: unsafe dead._withUnsafeGuaranteedRef { $0.number }))
    }
  }
}

@inline(never)
private func dropDeeper() {
  drop()
  // This statement prevents a tail call.
  unsafe counter &+= 1
}

nonisolated(unsafe) private var counter = 0
