import CrashShield
import CrashShieldGuards
import Dispatch
import Foundation
import Synchronization
import TestKit
import Testing

/// Tests shieldedAssumeIsolated on the actor's executor, on other executors, and on threads without an executor.
@Suite
struct IsolationTests {
  @Test("shieldedAssumeIsolated runs at once on the actor's executor, without an incident")
  func home() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let counter = Counter()
      guard await counter.callback() == 1, await counter.callback() == 2 else { complain("not run") }
      guard Shield.guardIncidents.isEmpty else { complain("\(Shield.guardIncidents)") }
      exit(right)
    }
  }

  @Test(
    "on another actor's executor or on a plain thread, shieldedAssumeIsolated returns nil and does not run the work")
  func elsewhere() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let counter = Counter()
      let other = Counter()
      guard await other.ask(counter) == nil, counter.fromOutside() == nil, await onThread(counter) == nil else {
        complain("run")
      }
      guard await counter.count == 0, Shield.guardIncidents.map(\.count) == [3] else {
        complain("\(Shield.guardIncidents)")
      }
      guard Shield.guardIncidents[0].reason == "work of a Counter on another executor" else {
        complain(Shield.guardIncidents[0].reason)
      }
      exit(right)
    }
  }

  @Test("an error of the guarded body is thrown to the caller")
  func throwing() async {
    await #expect(throws: CancellationError.self) { try await Counter().failing() }
  }

  @Test("shieldedAssumeIsolated runs on the queue of an actor, in a task and without one", arguments: [false, true])
  func queue(canTell: Bool) async {
    let actor = Queued(canTell ? Telling() : Silent())
    let inTask = await actor.atHome()
    let onQueue = await withCheckedContinuation { continuation in
      actor.executor.queue.async { continuation.resume(returning: actor.callback()) }
    }
    #expect(inTask == 5 && onQueue == 5)
  }

  @Test("shieldedAssumeIsolated uses the answer of an executor which reports that another executor is current")
  func telling() async {
    await #expect(processExitsWith: .exitCode(right)) {
      guard Queued(Telling()).callback() == nil, Shield.guardIncidents.map(\.kind) == [.isolation] else {
        complain("\(Shield.guardIncidents)")
      }
      exit(right)
    }
  }

  @Test("an executor that cannot check isolation traps, as with assumeIsolated")
  func silent() async {
    await #expect(processExitsWith: .signal(trapSignal)) {
      beginCrash()
      _ = Queued(Silent()).callback()
    }
  }

  @Test("the first isolation checks of a process are correct even on many threads at once")
  func race() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let counter = Counter()
      DispatchQueue.concurrentPerform(iterations: 64) { _ in
        guard counter.fromOutside() == nil else { complain("run") }
      }
      guard await counter.callback() == 1, Shield.guardIncidents.map(\.count) == [64] else { complain("not run") }
      exit(right)
    }
  }
}

private func onThread(_ counter: Counter) async -> Int? {
  await withCheckedContinuation { continuation in
    Thread { continuation.resume(returning: counter.fromOutside()) }.start()
  }
}

private actor Counter {
  var count = 0

  func callback() -> Int? { fromOutside() }

  func ask(_ other: Counter) -> Int? { other.fromOutside() }

  func failing() throws { try fail() }

  /// A function that is not statically isolated to the actor.
  nonisolated func fromOutside() -> Int? {
    shieldedAssumeIsolated { counter in
      counter.count += 1
      return counter.count
    }
  }

  private nonisolated func fail() throws {
    try shieldedAssumeIsolated { _ in throw CancellationError() }
  }
}

/// An executor that cannot answer whether it is the current executor: its check can only succeed, or end the process.
private class Silent: SerialExecutor, @unchecked Sendable {
  // Invariant: the key is set once, before other code can use it.
  fileprivate static let key = DispatchSpecificKey<Bool>()
  let queue = DispatchQueue(label: "executor")

  init() { queue.setSpecific(key: Self.key, value: true) }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    // Invariant: the executor exists as long as its actor, which the job retains.
    queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }

  func isIsolatingCurrentContext() -> Bool? { nil }
}

/// An executor that can answer whether it is the current executor.
private final class Telling: Silent, @unchecked Sendable {
  override func isIsolatingCurrentContext() -> Bool? { DispatchQueue.getSpecific(key: Self.key) == true }
}

private actor Queued {
  nonisolated let executor: Silent
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }
  var number = 5

  init(_ executor: Silent) { self.executor = executor }

  func atHome() -> Int? { callback() }

  nonisolated func callback() -> Int? { shieldedAssumeIsolated { $0.number } }
}
