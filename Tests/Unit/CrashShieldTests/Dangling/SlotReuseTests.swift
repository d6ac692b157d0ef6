import CrashShield
import CrashShieldGuards
import Glibc
import Synchronization
import Testing

/// Tests that a record shows the stacks of its own object, although many objects use the same slot and the same memory
/// in turn.
///
/// The test releases and uses each object in one of four ways, each with its own stack. The object's address and the
/// thread determine the way. A record contains this address and this thread, so the test knows which stacks the record
/// must have.
@Suite(.enabled(if: Shield.danglingUnavailableReason == nil, "the quarantine is unavailable here"))
struct SlotReuseTests {
  @Test("quarantine slots that eight threads reuse never show a stack of another object", arguments: [0, 1, 2])
  func recycling(number: Int) async {
    await #expect(processExitsWith: .exitCode(right)) { [number] in
      try Shield.protect(Item.self, policy: DanglingPolicy.allCases[number], limit: 20)
      let marks = Marks.learn()
      let seen = Atomic<Int>(0)
      // A thread that uses an object holds the gate exclusively, because releases on other threads could evict the
      // object.
      let gate = Gate()
      onThreads(8) { _ in
        for round in 0..<2000 {
          let isUsed = round % 16 == 0
          gate.enter(alone: isUsed)
          let address = Item.makeAndFree()
          // Uses the object only if it is in the quarantine, because otherwise it is already deallocated.
          if isUsed, let object = unsafe UnsafeMutableRawPointer(bitPattern: address),
            case .quarantined = unsafe Shield.liveness(of: object)
          {
            unsafe use(object, inWay: way(address, thread: Int(gettid_())))
          }
          gate.leave()
          switch unsafe Shield.liveness(of: UnsafeRawPointer(bitPattern: address)) {
          case .quarantined(let record), .freed(let record):
            // The record can already be that of a later object at the same address. Its thread then is that of the
            // later object.
            check(marks.releases.fit(record.release, address: address))
            check(record.className.hasSuffix("Item") && record.age >= .zero)
            seen.add(1, ordering: .relaxed)
          case .live, .unknown: break
          }
        }
      }
      // Excludes the incidents of `learn`, which uses each way once, independently of address and thread.
      let incidents = Shield.danglingIncidents().filter { !marks.learned.contains($0.use.frames) }
      check(seen.load(ordering: .relaxed) > 1000 && incidents.count >= 4)
      for incident in incidents {
        // Each use was a method call on an object in quarantine.
        guard let object = incident.object, incident.kind == .call else { Glibc.exit(2) }
        check(incident.className.hasSuffix("Item") && incident.record != nil && incident.age != nil)
        check(marks.uses.fit(incident.use, address: object))
        check(marks.releases.fit(incident.release, address: object))
      }
      Glibc.exit(right)
    }
  }
}

/// Returns the number of the way in which a thread releases, or uses, an object at this address.
private func way(_ address: UInt, thread: Int) -> Int {
  Int(((address / 16 &+ UInt(thread)) &* 0x9E37_79B9_7F4A_7C15) >> 62)
}

/// The return addresses by which the test recognizes the way from a stack, for releases and for uses.
private struct Marks {
  /// For each way, the return addresses that occur only in stacks of this way.
  struct Ways {
    var own: [Set<UInt>]

    init(_ stacks: [[UInt]]) {
      own = stacks.indices.map { index in
        Set(stacks[index]).subtracting(stacks.indices.filter { $0 != index }.flatMap { stacks[$0] })
      }
      check(own.allSatisfy { !$0.isEmpty })
    }

    /// Whether the stack is that of the way for its thread and this address, and has at least nine frames.
    func fit(_ stack: DanglingIncident.Stack, address: UInt) -> Bool {
      guard let thread = stack.thread, stack.frames.count > 8 else { return false }
      let expected = way(address, thread: thread)
      return own.indices.allSatisfy { index in
        own[index].isDisjoint(with: stack.frames) == (index != expected)
      }
    }
  }

  var releases: Ways
  var uses: Ways
  var learned: Set<[UInt]>

  /// Releases and uses an object in each of the four ways, to learn their return addresses.
  static func learn() -> Marks {
    var releases: [[UInt]] = []
    var uses: [[UInt]] = []
    for number in 0..<4 {
      var item: Item? = Item.make()
      let address = item.map { unsafe UInt(bitPattern: Unmanaged.passUnretained($0).toOpaque()) } ?? 0
      release(&item, inWay: number)
      let before = Set(Shield.danglingIncidents().map(\.use.frames))
      if let object = unsafe UnsafeMutableRawPointer(bitPattern: address) { unsafe use(object, inWay: number) }
      guard case .quarantined(let record) = unsafe Shield.liveness(of: UnsafeRawPointer(bitPattern: address)),
        let incident = Shield.danglingIncidents().first(where: { !before.contains($0.use.frames) })
      else { Glibc.exit(3) }
      releases.append(record.release.frames)
      uses.append(incident.use.frames)
    }
    let learned = Set(Shield.danglingIncidents().map(\.use.frames))
    return Marks(releases: Ways(releases), uses: Ways(uses), learned: learned)
  }
}

private class Item {
  var one = 1
  var two = 2
  func number() -> Int { one }

  @inline(never)
  static func make() -> Item { Item() }

  /// Creates and releases an object, and returns its address.
  static func makeAndFree() -> UInt {
    var item: Item? = make()
    let address = item.map { unsafe UInt(bitPattern: Unmanaged.passUnretained($0).toOpaque()) } ?? 0
    release(&item, inWay: way(address, thread: Int(gettid_())))
    return address
  }
}

/// A subclass, so that the call of `number()` stays virtual in optimized builds.
private final class SubItem: Item {
  override func number() -> Int { two }
}

nonisolated(unsafe) var otherItem: AnyObject = SubItem()

/// A counter whose changes keep the optimizer from merging functions and from removing calls.
private let steps = Atomic<Int>(0)

private func release(_ item: inout Item?, inWay number: Int) {
  switch number {
  case 0: releaseFirst(&item)
  case 1: releaseSecond(&item)
  case 2: releaseThird(&item)
  default: releaseFourth(&item)
  }
}

@inline(never)
private func releaseFirst(_ item: inout Item?) {
  descend(5, &item)
  steps.add(1, ordering: .relaxed)
}

@inline(never)
private func releaseSecond(_ item: inout Item?) {
  descend(5, &item)
  steps.add(2, ordering: .relaxed)
}

@inline(never)
private func releaseThird(_ item: inout Item?) {
  descend(5, &item)
  steps.add(3, ordering: .relaxed)
}

@inline(never)
private func releaseFourth(_ item: inout Item?) {
  descend(5, &item)
  steps.add(4, ordering: .relaxed)
}

@inline(never)
private func descend(_ depth: Int, _ item: inout Item?) {
  if depth == 0 { item = nil } else { descend(depth - 1, &item) }
  steps.add(1, ordering: .relaxed)
}

/// Precondition: the address is that of a freed object, which stays in the quarantine during the call.
private func use(_ object: UnsafeMutableRawPointer, inWay number: Int) {
  switch number {
  case 0: unsafe useFirst(object)
  case 1: unsafe useSecond(object)
  case 2: unsafe useThird(object)
  default: unsafe useFourth(object)
  }
}

@inline(never)
private func useFirst(_ object: UnsafeMutableRawPointer) {
  unsafe call(7, object)
  steps.add(5, ordering: .relaxed)
}

@inline(never)
private func useSecond(_ object: UnsafeMutableRawPointer) {
  unsafe call(7, object)
  steps.add(6, ordering: .relaxed)
}

@inline(never)
private func useThird(_ object: UnsafeMutableRawPointer) {
  unsafe call(7, object)
  steps.add(7, ordering: .relaxed)
}

@inline(never)
private func useFourth(_ object: UnsafeMutableRawPointer) {
  unsafe call(7, object)
  steps.add(8, ordering: .relaxed)
}

@inline(never)
private func call(_ depth: Int, _ object: UnsafeMutableRawPointer) {
  if depth == 0 {
    // Invariant: the object is in the quarantine, so its memory is still valid.
    let number = unsafe Unmanaged<Item>.fromOpaque(object)._withUnsafeGuaranteedRef { $0.number() }
    steps.add(number & 1, ordering: .relaxed)
  } else {
    unsafe call(depth - 1, object)
  }
  steps.add(1, ordering: .relaxed)
}

/// A lock that many releasing threads can hold together, or that one using thread holds alone.
@safe
private final class Gate: @unchecked Sendable {
  /// Invariant: only pthread functions access this memory, and they synchronize the accesses.
  private let lock: UnsafeMutablePointer<pthread_rwlock_t>

  init() {
    unsafe lock = .allocate(capacity: 1)
    check(unsafe pthread_rwlock_init(lock, nil) == 0)
  }

  func enter(alone: Bool) {
    check(unsafe (alone ? pthread_rwlock_wrlock(lock) : pthread_rwlock_rdlock(lock)) == 0)
  }

  func leave() { check(unsafe pthread_rwlock_unlock(lock) == 0) }
}
