import CrashShield
import CrashShieldGuards
import CrashShieldFoundation
import Foundation
import Synchronization
import Testing

/// Tests that guards count faults of background work on four threads exactly.
@Suite
struct CountTests {
  @Test("a continuation resumed a thousand times by four threads counts all resumptions except the first")
  func continuation() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let firsts = Tally()
      let value: Int = try await withShieldedContinuation { continuation in
        DispatchQueue.concurrentPerform(iterations: 4) { thread in
          for _ in 0..<250 where continuation.resume(returning: thread, line: 7) { firsts.add() }
        }
      }
      guard firsts.count == 1, (0..<4).contains(value) else { complain("\(firsts.count) \(value)") }
      expect(.continuation, 7, 999)
    }
  }

  @Test("four hundred continuations lost on four threads are counted exactly")
  func lost() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let leaked = Tally()
      await withTaskGroup { group in
        for _ in 0..<4 {
          group.addTask {
            for _ in 0..<100 {
              do { _ = try await withShieldedContinuation(of: Int.self, line: 7) { _ in } } catch { leaked.add() }
            }
          }
        }
      }
      guard leaked.count == 400 else { complain("\(leaked.count)") }
      expect(.continuation, 7, 400)
    }
  }

  @Test("main actor work from four threads is counted exactly, and each piece of work runs once")
  func mainActor() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let runs = Tally()
      for _ in 0..<4 {
        Thread {
          for _ in 0..<250 { MainActor.shieldedRun(line: 7) { runs.add() } }
        }.start()
      }
      while runs.count < 1000 { await Task.yield() }
      let elsewhere = Shield.guardIncidents.filter { $0.reason.contains("on another thread") }
      // Allows another incident at the same call site: on a busy machine, the main queue does not run a body within a
      // second.
      guard elsewhere.map(\.count) == [1000], Shield.guardIncidents.allSatisfy({ $0.line == 7 }) else {
        complain("\(Shield.guardIncidents)")
      }
      exit(right)
    }
  }

  @Test("the incident about a late main queue has the source location of the caller")
  func late() async {
    await #expect(processExitsWith: .exitCode(right)) {
      await MainActor.run {
        let given = DispatchSemaphore(value: 0)
        Thread {
          MainActor.shieldedRun(line: 7) {}
          given.signal()
        }.start()
        given.wait()
        // Blocks the main queue until the shield has recorded the incident about it.
        while Shield.guardIncidents.count < 2 { usleep(1000) }
      }
      let reasons = Shield.guardIncidents.map(\.reason).sorted()
      guard reasons.count == 2, reasons[0].hasPrefix("the main queue"),
        Shield.guardIncidents.allSatisfy({ $0.line == 7 && $0.fileID == #fileID && $0.count == 1 })
      else { complain("\(Shield.guardIncidents)") }
      exit(right)
    }
  }

  @Test("a hundred timers with deallocated targets, created on four threads, are counted once each")
  func timers() async {
    await #expect(processExitsWith: .exitCode(right)) {
      // Invariant: only one thread at a time changes the array until all timers exist. A Mutex would not help, because
      // ThreadSanitizer does not recognize the lock of a Mutex (Tests/tsan-suppressions).
      let made = DispatchQueue(label: "made")
      nonisolated(unsafe) var timers: [ShieldedTimer] = []
      DispatchQueue.concurrentPerform(iterations: 4) { _ in
        let own = (0..<25).map { _ in
          // If this thread stalls, the first tick can still find its target. A later tick then ends the timer.
          ShieldedTimer(every: .milliseconds(1), target: Target(), line: 7) { _ in }
        }
        // Invariant: the queue runs one closure at a time, and only these closures access the array.
        made.sync { unsafe timers += own }
      }
      let all = made.sync { unsafe timers }
      while !all.allSatisfy(\.isCancelled) { await Task.yield() }
      expect(.timer, 7, 100)
    }
  }

  @Test("a hundred observations with deallocated observers, notified by four threads, are counted once each")
  func notifications() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let center = NotificationCenter()
      let name = Notification.Name("changed")
      let observations = (0..<100).map { _ in
        center.shieldedAddObserver(Target(), forName: name, line: 7) { _, _ in complain("called") }
      }
      DispatchQueue.concurrentPerform(iterations: 4) { _ in
        for _ in 0..<10 { center.post(name: name, object: nil) }
      }
      withExtendedLifetime(observations) {}
      expect(.notification, 7, 100)
    }
  }

  @Test("an observation that ends while four threads post gets no further calls")
  func endedMeanwhile() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let center = NotificationCenter()
      let name = Notification.Name("changed")
      let target = Target()
      let calls = Tally()
      DispatchQueue.concurrentPerform(iterations: 4) { thread in
        for _ in 0..<50 {
          let observation = center.shieldedAddObserver(target, forName: name) { _, _ in calls.add() }
          center.post(name: name, object: nil)
          observation.cancel()
          observation.cancel()
        }
      }
      let before = calls.count
      center.post(name: name, object: nil)
      guard before >= 200, calls.count == before, Shield.guardIncidents.isEmpty else { complain("\(before)") }
      exit(right)
    }
  }

  @Test("a thousand writes of four threads to a pipe without a reader are counted exactly")
  func pipe() async {
    await #expect(processExitsWith: .exitCode(right)) {
      guard Shield.ignoreBrokenPipes() else { complain("not ignored") }
      let pipe = Pipe()
      try pipe.fileHandleForReading.close()
      let handle = pipe.fileHandleForWriting
      let thrown = Tally()
      DispatchQueue.concurrentPerform(iterations: 4) { _ in
        for _ in 0..<250 {
          do { try handle.shieldedWrite(Data([1]), line: 7) } catch { thrown.add() }
        }
      }
      guard thrown.count == 1000 else { complain("\(thrown.count)") }
      expect(.pipe, 7, 1000)
    }
  }

  @Test("transitions requested by four threads during another transition are dropped and counted")
  func transitions() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let navigation = await Navigation(.drop)
      guard await navigation.queue.push(Screen("first")) == .started else { complain("not started") }
      let dropped = Tally()
      let isOver = DispatchSemaphore(value: 0)
      for _ in 0..<4 {
        Thread {
          for _ in 0..<250 {
            Task { @MainActor in
              if navigation.queue.push(Screen("next"), line: 7) == .dropped(.busy) { dropped.add() }
            }
          }
          isOver.signal()
        }.start()
      }
      while dropped.count < 1000 { await Task.yield() }
      expect(.transition, 7, 1000)
    }
  }

  @Test("unbalanced dispatch groups on four threads are counted exactly")
  func balance() async {
    await #expect(processExitsWith: .exitCode(right)) {
      DispatchQueue.concurrentPerform(iterations: 4) { _ in
        for _ in 0..<250 { ShieldedGroup(line: 7).enter() }
      }
      expect(.group, 7, 1000)
    }
  }
}

/// Expects one record with this call site and this count, and then ends the process.
private func expect(_ kind: ShieldKind, _ line: Int, _ count: Int) -> Never {
  let incidents = Shield.guardIncidents
  guard incidents.count == 1, incidents[0].kind == kind, incidents[0].line == line, incidents[0].count == count,
    incidents[0].fileID == #fileID, incidents[0].mode == .absorb
  else { complain("\(incidents)") }
  exit(right)
}

private final class Tally: Sendable {
  private let value = Atomic<Int>(0)
  var count: Int { value.load(ordering: .acquiring) }
  func add() { value.add(1, ordering: .acquiringAndReleasing) }
}

private final class Target: Sendable {}
