import CShim
import CrashShield
import CrashShieldGuards
import Dispatch
import Glibc
import Synchronization
import Testing

/// Tests guard modes, incident records and the incident handler.
@Suite
struct ModeTests {
  @Test("ShieldKind.handle has the number that the ring uses for uses of handles to deallocated objects")
  func handleKind() { #expect(Int32(ShieldKind.handle.rawValue) == CS_GUARD_KIND_HANDLE) }

  @Test("during a million mode changes on four threads, each fault is recorded exactly once")
  func toggling() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let absorbed = Atomic<Int>(0)
      let isDone = Atomic<Bool>(false)
      let group = DispatchGroup()
      for _ in 0..<2 {
        DispatchQueue.global().async(group: group) {
          while !isDone.load(ordering: .acquiring) {
            // This call only records a fault. It performs no operation, so the program continues in every mode.
            if Shield.handleFault(.gate, at: ShieldSite(line: 1), { "one" }) {
              absorbed.add(1, ordering: .relaxed)
            }
          }
        }
      }
      DispatchQueue.concurrentPerform(iterations: 4) { thread in
        for round in 0..<250_000 { Shield.setMode((round + thread) % 2 == 0 ? .absorb : .off, for: .gate) }
      }
      isDone.store(true, ordering: .releasing)
      group.wait()
      let counted = Shield.guardIncidents.first?.count ?? 0
      let expected = absorbed.load(ordering: .acquiring)
      Glibc.exit(counted == expected && Shield.guardIncidents.count <= 1 ? right : 1)
    }
  }

  @Test("guards of each kind on their own threads record each fault once during mode changes")
  func togglingGuards() async {
    await #expect(processExitsWith: .exitCode(right)) {
      // Sendable: only closures on the queue, which runs one at a time, access the state. A Mutex would not help,
      // because ThreadSanitizer does not recognize its lock (Tests/tsan-suppressions).
      let sums = DispatchQueue(label: "sums")
      nonisolated(unsafe) var expected: [ShieldKind: Int] = [:]
      DispatchQueue.concurrentPerform(iterations: 4) { thread in
        let (kind, fault) = Faults.all[thread]
        var count = 0
        for round in 0..<250_000 {
          let mode = ShieldMode.allCases[(round + thread) % 3]
          Shield.setMode(mode, for: kind)
          if mode != .off { count += 1 }
          fault()
        }
        let made = count
        sums.sync { unsafe expected[kind] = made }
      }
      let counted = Dictionary(uniqueKeysWithValues: Shield.guardIncidents.map { ($0.kind, $0.count) })
      guard counted == sums.sync(execute: { unsafe expected }) else { complain("\(counted)") }
      Glibc.exit(right)
    }
  }

  @Test("a guard switched between observe and absorb counts every fault; a guard in mode off counts no fault")
  func togglingOthers() async {
    await #expect(processExitsWith: .exitCode(right)) {
      Shield.setMode(.off, for: .message)
      let isDone = Atomic<Bool>(false)
      let group = DispatchGroup()
      for thread in 0..<2 {
        DispatchQueue.global().async(group: group) {
          var round = thread
          while !isDone.load(ordering: .acquiring) {
            Shield.setMode(round % 2 == 0 ? .absorb : .observe, for: .observation)
            round += 1
          }
        }
      }
      DispatchQueue.concurrentPerform(iterations: 4) { _ in
        for _ in 0..<25_000 {
          Faults.removal()
          Faults.message()
        }
      }
      isDone.store(true, ordering: .releasing)
      group.wait()
      guard Shield.guardIncidents.map(\.kind) == [.observation], Shield.guardIncidents[0].count == 100_000 else {
        complain("\(Shield.guardIncidents)")
      }
      Glibc.exit(right)
    }
  }

  @Test("the incident handler is called at the 1st, 10th and 100th fault, and not for faults inside the handler")
  func observer() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let counts = Mutex<[Int]>([])
      Shield.onIncident { incident in
        counts.withLock { $0.append(incident.count) }
        // A fault inside the handler is recorded, but not reported to the handler.
        fault(line: 3)
      }
      for _ in 0..<150 { fault(line: 1) }
      let reported = counts.withLock { $0 }
      Shield.onIncident(nil)
      fault(line: 2)
      let incidents = Shield.guardIncidents
      guard reported == [1, 10, 100], incidents.map(\.count).sorted() == [1, 3, 150] else {
        complain("reported \(reported), \(incidents)")
      }
      Glibc.exit(right)
    }
  }

  @Test("when the table of guard incidents is full, further incidents are dropped and counted")
  func full() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let places = 3000
      for line in 1...places { Shield.recordFault(.gate, at: ShieldSite(line: UInt(line))) { "a place" } }
      let kept = Shield.guardIncidents
      Glibc.exit(
        kept.count <= 1024 && kept.count > 900 && kept.count + Shield.droppedIncidentCount == places ? right : 1)
    }
  }

  @Test("long names and reasons in a guard incident are cut between characters")
  func long() async {
    await #expect(processExitsWith: .exitCode(right)) {
      Shield.recordFault(.gate, at: ShieldSite(line: 1)) { String(repeating: "é", count: 1000) }
      guard let incident = Shield.guardIncidents.first else { Glibc.exit(1) }
      Glibc.exit(incident.reason == String(repeating: "é", count: 128) ? right : 2)
    }
  }

  @Test(
    "the environment sets guard modes, and unknown kinds in it are ignored",
    arguments: [
      ("off", [ShieldMode.off, .off]), ("observe,cast=off", [.observe, .off]), ("cast=off,absorb", [.absorb, .absorb]),
      ("cast=never,nothing,index = observe", [.observe, .absorb]), ("", [.absorb, .absorb]),
    ])
  func environment(text: String, modes: [ShieldMode]) async {
    let numbers: [Int] = modes.map { Int($0.rawValue) }
    await #expect(processExitsWith: .exitCode(right)) { [text, numbers = numbers as [Int]] in
      // Invariant: no other thread exists, and no code has read the variable yet.
      unsafe setenv("CRASHSHIELD_GUARDS", text, 1)
      let found = [Shield.mode(for: .index), Shield.mode(for: .cast)].map { Int($0.rawValue) }
      Glibc.exit(found == numbers ? right : 1)
    }
  }

  @Test("a guard mode that code has set takes precedence over the environment")
  func code() async {
    await #expect(processExitsWith: .exitCode(right)) {
      unsafe setenv("CRASHSHIELD_GUARDS", "off", 1)
      Shield.setMode(.observe, for: .index)
      Glibc.exit(Shield.mode(for: .index) == .observe && Shield.mode(for: .cast) == .off ? right : 1)
    }
  }

  @Test("every guard kind has its own number below 64, and a name")
  func kinds() {
    #expect(Set(ShieldKind.allCases.map(\.name)).count == ShieldKind.allCases.count)
    #expect(ShieldKind.allCases.allSatisfy { $0.rawValue > 0 && $0.rawValue < 64 })
  }
}

/// Causes a fault at a call site with this line number.
///
/// In `#expect`, each line number would be that of the macro.
private func fault(line: UInt) {
  _ = [Int]()[shielded: 0, line: line]
}

/// Faults of guards that let the program continue in each mode.
private enum Faults {
  private static let registry = ObserverRegistry<Subject>()
  private static let observer = Observer()

  static let all: [(ShieldKind, @Sendable () -> Void)] = [
    (.observation, { removal() }), (.message, { message() }), (.gate, { entry() }), (.missingValue, { missing() }),
  ]

  static func removal() { registry.remove(observer, for: \Subject.count) }

  static func message() { _ = DynamicReceiver(observer, methods: [:]).greet() }

  static func entry() {
    let gate = ExclusiveGate()
    gate.run { _ = gate.run {} }
  }

  static func missing() { _ = Array(shielded: [opaque(1), nil]) }

  private struct Subject {
    var count = 0
  }

  private final class Observer: Sendable {}
}
