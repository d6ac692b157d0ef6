import CrashShield
import CrashShieldGuards
import Glibc
import Synchronization
import Testing

/// Whose stacks a record shows, while its place and its memory have one tenant after the other.
///
/// An object goes, and is used, in one of four ways, which its address and the thread decide on. A record has both, so
/// what it shows can be told right from wrong.
@Suite(.enabled(if: Shield.danglingUnavailableReason == nil, "the quarantine steps aside here"))
struct TenantTests {
  @Test("places that eight threads recycle never show a stack of another tenant", arguments: [0, 1, 2])
  func recycling(number: Int) async {
    await #expect(processExitsWith: .exitCode(right)) { [number] in
      try Shield.protect(Tenant.self, policy: DanglingPolicy.allCases[number], limit: 20)
      let marks = Marks.learn()
      let seen = Atomic<Int>(0)
      // Who uses a dead object lets nobody release one meanwhile: else it might leave the quarantine under the use.
      let gate = Gate()
      onThreads(8) { _ in
        for round in 0..<2000 {
          let isUsed = round % 16 == 0
          gate.enter(alone: isUsed)
          let address = Tenant.comeAndGo()
          // Where there was no room for it, it has gone already.
          if isUsed, let object = unsafe UnsafeMutableRawPointer(bitPattern: address),
            case .quarantined = unsafe Shield.liveness(of: object)
          {
            unsafe use(object, inWay: way(address, thread: Int(gettid_())))
          }
          gate.leave()
          switch unsafe Shield.liveness(of: UnsafeRawPointer(bitPattern: address)) {
          case .quarantined(let record), .freed(let record):
            // Perhaps already a later tenant's: then it has that one's thread.
            check(marks.releases.fit(record.release, address: address))
            check(record.className.hasSuffix("Tenant") && record.age >= .zero)
            seen.add(1, ordering: .relaxed)
          case .live, .unknown: break
          }
        }
      }
      // Those of the learning went each way, whatever the address.
      let incidents = Shield.danglingIncidents().filter { !marks.learned.contains($0.use.frames) }
      check(seen.load(ordering: .relaxed) > 1000 && incidents.count >= 4)
      for incident in incidents {
        // Only these were used, each while it was in quarantine.
        guard let object = incident.object, incident.kind == .call else { Glibc.exit(2) }
        check(incident.className.hasSuffix("Tenant") && incident.record != nil && incident.age != nil)
        check(marks.uses.fit(incident.use, address: object))
        check(marks.releases.fit(incident.release, address: object))
      }
      Glibc.exit(right)
    }
  }
}

/// Which of the four ways.
private func way(_ address: UInt, thread: Int) -> Int {
  Int(((address / 16 &+ UInt(thread)) &* 0x9E37_79B9_7F4A_7C15) >> 62)
}

/// The return addresses that a stack has in one way only.
private struct Marks {
  /// Of each way.
  struct Ways {
    var own: [Set<UInt>]

    init(_ stacks: [[UInt]]) {
      own = stacks.indices.map { index in
        Set(stacks[index]).subtracting(stacks.indices.filter { $0 != index }.flatMap { stacks[$0] })
      }
      check(own.allSatisfy { !$0.isEmpty })
    }

    /// Whether the stack is of the way that this thread goes for this address, and nine frames deep at least.
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

  /// Goes each way once.
  static func learn() -> Marks {
    var releases: [[UInt]] = []
    var uses: [[UInt]] = []
    for number in 0..<4 {
      var tenant: Tenant? = Tenant.make()
      let address = tenant.map { unsafe UInt(bitPattern: Unmanaged.passUnretained($0).toOpaque()) } ?? 0
      release(&tenant, inWay: number)
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

private class Tenant {
  var one = 1
  var two = 2
  func number() -> Int { one }

  @inline(never)
  static func make() -> Tenant { Tenant() }

  /// One that has gone; where it stood.
  static func comeAndGo() -> UInt {
    var tenant: Tenant? = make()
    let address = tenant.map { unsafe UInt(bitPattern: Unmanaged.passUnretained($0).toOpaque()) } ?? 0
    release(&tenant, inWay: way(address, thread: Int(gettid_())))
    return address
  }
}

/// Keeps the call virtual in optimized builds.
private final class Lodger: Tenant {
  override func number() -> Int { two }
}

nonisolated(unsafe) var otherTenant: AnyObject = Lodger()

/// What keeps the optimizer from making one function of several, or none of a call.
private let steps = Atomic<Int>(0)

private func release(_ tenant: inout Tenant?, inWay number: Int) {
  switch number {
  case 0: releaseFirst(&tenant)
  case 1: releaseSecond(&tenant)
  case 2: releaseThird(&tenant)
  default: releaseFourth(&tenant)
  }
}

@inline(never)
private func releaseFirst(_ tenant: inout Tenant?) {
  descend(5, &tenant)
  steps.add(1, ordering: .relaxed)
}

@inline(never)
private func releaseSecond(_ tenant: inout Tenant?) {
  descend(5, &tenant)
  steps.add(2, ordering: .relaxed)
}

@inline(never)
private func releaseThird(_ tenant: inout Tenant?) {
  descend(5, &tenant)
  steps.add(3, ordering: .relaxed)
}

@inline(never)
private func releaseFourth(_ tenant: inout Tenant?) {
  descend(5, &tenant)
  steps.add(4, ordering: .relaxed)
}

@inline(never)
private func descend(_ depth: Int, _ tenant: inout Tenant?) {
  if depth == 0 { tenant = nil } else { descend(depth - 1, &tenant) }
  steps.add(1, ordering: .relaxed)
}

/// The address is that of a tenant that has gone, and stays in quarantine meanwhile.
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
    // In quarantine, so it is still there.
    let number = unsafe Unmanaged<Tenant>.fromOpaque(object)._withUnsafeGuaranteedRef { $0.number() }
    steps.add(number & 1, ordering: .relaxed)
  } else {
    unsafe call(depth - 1, object)
  }
  steps.add(1, ordering: .relaxed)
}

/// Many together, or one alone.
@safe
private final class Gate: @unchecked Sendable {
  /// Only touched by the functions of C, which synchronize.
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
