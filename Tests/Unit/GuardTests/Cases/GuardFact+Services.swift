import CrashShield
import CrashShieldGuards
import CrashShieldFoundation
import Foundation
import Synchronization

extension GuardFact {
  static let services: [GuardFact] = [
    GuardFact("a timer with a negative interval", faults: 1) {
      let target = Target()
      let timer = ShieldedTimer(every: .seconds(-1), target: target) { _ in }
      timer.cancel()
      return withExtendedLifetime(target) { timer.isCancelled }
    },
    GuardFact("values that JSON cannot represent: NaN, a date, a number as key, a nested infinity", faults: 4) {
      let objects: [Any] = [[Double.nan], ["at": Date()], [1: "a"], ["a": [["b": Float.infinity]]]]
      return objects.allSatisfy { object in
        (try? JSONSerialization.shieldedData(withJSONObject: object)) == nil
      }
    },
    GuardFact("JSON of a fragment with the option for it, and of nested values") {
      let fragment = try JSONSerialization.shieldedData(withJSONObject: "text", options: .fragmentsAllowed)
      let nested = try JSONSerialization.shieldedData(withJSONObject: ["a": [1, ["b": NSNull()]]])
      return fragment == Data(#""text""#.utf8) && nested == Data(#"{"a":[1,{"b":null}]}"#.utf8)
    },
    GuardFact("an archive of the requested class") {
      let data = try NSKeyedArchiver.archivedData(withRootObject: NSNumber(value: 4), requiringSecureCoding: false)
      return try NSKeyedUnarchiver.shieldedUnarchivedObject(ofClass: NSNumber.self, from: data) == 4
    },
    GuardFact("the status of a process that runs, and the wait for one that does not", faults: 2) {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/bin/cat")
      let input = Pipe()
      process.standardInput = input
      guard !process.shieldedWaitUntilExit() else { return false }
      try process.run()
      let isRunning = process.shieldedTerminationStatus() == nil
      try input.fileHandleForWriting.close()
      return isRunning && process.shieldedWaitUntilExit() && process.shieldedTerminationStatus() == 0
    },
    GuardFact("a gate is open after a body has thrown, even across suspensions") {
      let gate = ExclusiveGate()
      do {
        try throwing(gate)
        return false
      } catch {}
      do {
        _ = try await gate.run { () async throws(ShieldFault) in
          await Task.yield()
          throw .leaked
        }
        return false
      } catch {}
      return isOpen(gate)
    },
    GuardFact("a canceled task leaves its gate", faults: 1) {
      let gate = ExclusiveGate()
      let (inside, entry) = AsyncStream.makeStream(of: Never.self)
      let task = Task {
        try await gate.run {
          entry.finish()
          try await Task.sleep(for: .seconds(1000))
        }
      }
      for await _ in inside {}
      // The task is already inside the gate, so this second attempt to enter is the recorded fault.
      guard !isOpen(gate) else { return false }
      task.cancel()
      _ = await task.result
      return isOpen(gate)
    },
    GuardFact("of a thousand tasks at a gate, never two are inside at once", faults: 0) {
      Shield.setMode(.off, for: .gate)
      let gate = ExclusiveGate()
      let inside = Inside()
      await withTaskGroup { group in
        for _ in 0..<1000 {
          group.addTask {
            await gate.run {
              inside.enter()
              await Task.yield()
              inside.leave()
            }
          }
        }
      }
      return inside.most == 1
    },
    GuardFact(
      "a group that four threads enter and leave is empty, and four that leave it once more are three too many",
      faults: 3
    ) {
      let group = ShieldedGroup()
      DispatchQueue.concurrentPerform(iterations: 4) { _ in
        for _ in 0..<1000 {
          group.enter()
          group.leave()
        }
      }
      let isEmpty = group.wait(timeout: .now())
      group.enter()
      let left = Inside()
      DispatchQueue.concurrentPerform(iterations: 4) { _ in
        if group.leave() { left.enter() }
      }
      return isEmpty && left.most == 1 && group.wait(timeout: .now())
    },
    GuardFact("a source that was resumed or canceled is deallocated without a fault") {
      for number in 0..<3 {
        let source = ShieldedSource(DispatchSource.makeUserDataAddSource())
        source.resume()
        if number == 1 { source.suspend() }
        if number > 0 { source.cancel() }
      }
      return true
    },
    GuardFact("a message with arguments, one of which is nil") {
      let receiver = DynamicReceiver(Target(), methods: ["say": { _, arguments in arguments.count }])
      return receiver.say(1, nil, "x") as? Int == 3
    },
  ]

  private static func isOpen(_ gate: ExclusiveGate) -> Bool { gate.run { 5 } == 5 }

  // Enters the gate by the overload for synchronous bodies, which the compiler selects for a body without await.
  private static func throwing(_ gate: ExclusiveGate) throws {
    _ = try gate.run { () throws(ShieldFault) in throw .leaked }
  }
}

private final class Target: Sendable {}

/// Records how many guarded closures ran at the same time at most.
private final class Inside: Sendable {
  private let now = Atomic<Int>(0)
  private let top = Atomic<Int>(0)
  var most: Int { top.load(ordering: .acquiring) }

  func enter() {
    let count = now.add(1, ordering: .acquiringAndReleasing).newValue
    top.max(count, ordering: .acquiringAndReleasing)
  }

  func leave() { now.subtract(1, ordering: .acquiringAndReleasing) }
}
