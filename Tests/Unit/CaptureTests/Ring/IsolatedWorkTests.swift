import CrashRing
import CrashShield
import CrashShieldGuards
import Foundation
import Glibc
import Synchronization
import TestKit
import Testing

/// Tests traps that end isolated work (`Shield.isolated`) but not the process, and the incidents that they leave in the
/// ring.
///
/// Each test runs in its own process.
@Suite("Isolated work", .unlessSanitized)
struct IsolatedWorkTests {
  private static let calls = 300
  private static let traps = 30
  // The number of traps whose message is longer than the part of the message buffer that one read returns.
  private static let longTraps = 12

  @Test("of 300 isolated calls, the 30 that trap throw an error; a trap beyond the budget ends the process")
  func budget() async {
    await #expect(processExitsWith: .signal(trapSignal)) {
      await mustCrash {
        startShield()
        Shield.maximumContainedFaults = IsolatedWorkTests.traps
        var (results, errors) = (0, 0)
        for call in 0..<IsolatedWorkTests.calls {
          do {
            results += try Shield.isolated { shelf(call) } == call ? 1 : 0
          } catch ShieldFault.trapped {
            errors += 1
          }
        }
        guard (results, errors) == (270, 30), Shield.containedFaultCount == 30 else { complain("\(results) \(errors)") }
        try check(incidents: IsolatedWorkTests.traps)
        _ = try Shield.isolated { shelf(0) }
      }
    }
  }

  @Test("the incident of a trap in a deep recursion has the registers and the innermost 32 frames")
  func deep() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      startShield()
      do {
        _ = try Shield.isolated { climb(40) }
        complain("not trapped")
      } catch ShieldFault.trapped {
      } catch {
        complain("\(error)")
      }
      guard let incident = try incidents().first, let trap = incident.trap else { complain("no incident of a trap") }
      guard incident.use.count == 32, Set(incident.use.suffix(24)).count == 1, trap.registers.count == 16 else {
        complain("\(incident)")
      }
      // In the DWARF numbers of x86-64, register 7 is the stack pointer.
      guard trap.registers[7] % 8 == 0, trap.registers[7] > 0x1000 else { complain("\(trap)") }
      Glibc.exit(rightStatus)
    }
  }

  @Test("traps in asynchronous isolated work are contained, even if the work continues on another thread")
  func asynchronousBudget() async {
    await #expect(processExitsWith: .signal(trapSignal)) {
      await mustCrash {
        startShield()
        Shield.maximumContainedFaults = IsolatedWorkTests.traps
        var (results, errors) = (0, 0)
        for call in 0..<IsolatedWorkTests.calls {
          do {
            let result = try await Shield.isolated {
              await Task.yield()
              async let other = Elsewhere.shared.next(call)
              return shelf(await other - 1)
            }
            results += result == call ? 1 : 0
          } catch ShieldFault.trapped {
            errors += 1
          }
        }
        guard (results, errors) == (270, 30), Shield.containedFaultCount == 30 else { complain("\(results) \(errors)") }
        try check(incidents: IsolatedWorkTests.traps)
        try await emptyShelf()
      }
    }
  }

  @Test("simultaneous traps of threads in isolated work are contained, with an incident for each")
  func together() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      startShield()
      let errors = Atomic<Int>(0)
      let gathered = Atomic<Int>(0)
      let threads = 12
      // Each isolated call blocks its calling thread until the work ends. Therefore it needs its own thread.
      let waiting = (0..<threads).map { _ in
        Thread {
          do {
            try Shield.isolated {
              gathered.add(1, ordering: .acquiringAndReleasing)
              while gathered.load(ordering: .acquiring) < threads { sched_yield() }
              _ = shelf(0)
            }
          } catch ShieldFault.trapped {
            errors.add(1, ordering: .acquiringAndReleasing)
          } catch {}
        }
      }
      for thread in waiting { thread.start() }
      while errors.load(ordering: .acquiring) < threads { sched_yield() }
      // Does not check the messages, because an incident can contain the messages of several simultaneous traps.
      try check(incidents: threads, haveWords: false)
      Glibc.exit(rightStatus)
    }
  }

  @Test("isolated work returns and throws to its caller, and its thread ends")
  func ordinary() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      startShield()
      try #require(Shield.status.containmentObstacle == nil)
      try #require(returnsWhatItsWorkDoes())
      try #require(try await Shield.isolated { await Elsewhere.shared.next(1) } == 2)
      try #require(failsAsItsWork())
      try #require(await failsAsItsWork())
      try #require(isEndedFromWithin())
      Glibc.exit(Shield.containedFaultCount == 0 ? rightStatus : 1)
    }
  }

  @Test("the halted threads of contained traps block neither a change of the group nor the exit of the process")
  func afterwards() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      startShield()
      for _ in 0..<3 { _ = try? Shield.isolated { shelf(0) } }
      // For setgid(), glibc makes every thread change its group id, and waits for all of them.
      guard setgid(getgid()) == 0, Shield.containedFaultCount == 3 else { Glibc.exit(1) }
      print("a line")
      Glibc.exit(rightStatus)
    }
  }

  @Test("the halted thread of a contained trap waits in a system call that no seccomp filter can refuse")
  func parked() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      startShield()
      _ = try? Shield.isolated { shelf(0) }
      guard let thread = try incidents().first?.useTid else { complain("no incident") }
      while true {
        // The second argument of futex() is the operation. The thread first wakes the caller (FUTEX_WAKE_PRIVATE), and
        // then remains in FUTEX_WAIT_PRIVATE (0x80).
        switch try systemCall(of: thread) {
        case .inside(number: SYS_futex_, let arguments) where arguments.dropFirst().first == "0x80":
          Glibc.exit(rightStatus)
        case .inside(number: SYS_futex_, _), .outside: sched_yield()
        case .inside(let number, _): complain("it waits in the system call \(number)")
        }
      }
    }
  }

  @Test("a crash has its own runtime error message, even after many contained traps that printed messages")
  func manyWords() async throws {
    try await withSpool { directory in
      await #expect(processExitsWith: .signal(trapSignal)) { [directory = directory as String] in
        startShield(spool: directory)
        for _ in 0..<IsolatedWorkTests.longTraps {
          _ = try? Shield.isolated { fatalError(String(repeating: "x", count: opaque(10_000))) }
        }
        guard Shield.containedFaultCount == IsolatedWorkTests.longTraps else { Glibc.exit(1) }
        fatalError("the last words")
      }
      let contents = try ringContents(ofSpool: directory)
      #expect(contents.records.count == 1 && contents.records.first?.message.contains("the last words") == true)
      #expect(contents.records.first?.message.contains("xxx") == false)
      #expect(contents.incidents.count == Self.longTraps)
      #expect(contents.incidents.allSatisfy { $0.subject.contains("xxx") })
    }
  }

  @Test("a crash has its runtime error message after a contained trap with a very long message")
  func longWords() async throws {
    try await withSpool { directory in
      await #expect(processExitsWith: .signal(trapSignal)) { [directory = directory as String] in
        startShield(spool: directory)
        _ = try? Shield.isolated { fatalError(String(repeating: "x", count: opaque(200_000))) }
        guard Shield.containedFaultCount == 1 else { Glibc.exit(1) }
        fatalError("the last words")
      }
      let contents = try ringContents(ofSpool: directory)
      #expect(contents.records.count == 1 && contents.records.first?.message.contains("the last words") == true)
      #expect(contents.records.first?.message.contains("xxx") == false)
      #expect(contents.incidents.count == 1 && contents.incidents.first?.subject.contains("xxx") == true)
    }
  }

  @Test("a crash after a contained trap is not delayed by the halted thread, and has its own runtime error message")
  func laterCrash() async throws {
    try await withSpool { directory in
      await #expect(processExitsWith: .signal(SIGSEGV)) { [directory = directory as String] in
        startShield(spool: directory)
        for _ in 0..<3 { _ = try? Shield.isolated { shelf(0) } }
        guard Shield.containedFaultCount == 3 else { Glibc.exit(1) }
        unsafe UnsafeMutablePointer<Int>(bitPattern: opaque(8))?.pointee = 1
      }
      let contents = try ringContents(ofSpool: directory)
      #expect(contents.records.count == 1 && contents.survived == 0)
      #expect(contents.records.first?.signal == SIGSEGV && contents.records.first?.message == "")
      #expect(contents.incidents.count == 3)
    }
  }
}

private struct Broken: Error {}

private func returnsWhatItsWorkDoes() -> Bool { (try? Shield.isolated { "a result" }) == "a result" }

private func failsAsItsWork() -> Bool {
  do {
    return try Shield.isolated { throw Broken() }
  } catch { return error is Broken }
}

private func failsAsItsWork() async -> Bool {
  do {
    return try await Shield.isolated {
      await Task.yield()
      throw Broken()
    }
  } catch { return error is Broken }
}

private func isEndedFromWithin() -> Bool {
  do {
    try Shield.isolated { if opaque(true) { pthread_exit(nil) } }
    return false
  } catch {
    return error as? ShieldFault == .refused("isolated work ended its own thread")
  }
}

/// In an async function, Swift resolves `Shield.isolated` to the asynchronous overload, even for synchronous work.
private func emptyShelf() async throws { _ = try await Shield.isolated { shelf(0) } }

/// What a thread does, from /proc.
private enum ThreadPlace {
  case inside(number: Int, arguments: ArraySlice<Substring>)
  /// The thread runs, or waits in the kernel outside of a system call.
  case outside
}

private func systemCall(of thread: Int32) throws -> ThreadPlace {
  let words = try String(contentsOfFile: "/proc/self/task/\(thread)/syscall", encoding: .utf8).split { $0.isWhitespace }
  guard let number = words.first.flatMap({ Int($0) }), number >= 0 else { return .outside }
  return .inside(number: number, arguments: words.dropFirst())
}

/// The number of the futex system call on x86-64.
///
/// Swift does not import this constant.
private let SYS_futex_ = 202

/// Calls itself this many times from the same call site, and then traps.
@inline(never)
@_optimize(none)
private func climb(_ height: Int) -> Int {
  height == 0 ? shelf(0) : climb(height - 1) + 1
}
