import CrashShield
import CrashShieldGuards
import CrashShieldFoundation
import Foundation
import Synchronization
import Testing

/// Tests that a guarded serial queue runs one body at a time, although a body is allowed to wait for another body of
/// the same queue.
@Suite
struct QueueTests {
  @Test("a task created in a body waits for the queue like any other caller", arguments: [false, true])
  func task(isAsync: Bool) async {
    await #expect(processExitsWith: .exitCode(right)) { [isAsync] in
      let scene = Scene()
      if isAsync { scene.queue.async { scene.begin() } } else { scene.queue.sync { scene.begin() } }
      scene.queue.async { scene.stay() }
      await scene.end()
      guard !scene.hasMet.load(ordering: .acquiring) else { complain("two at a time") }
      guard Shield.guardIncidents.isEmpty else { complain("\(Shield.guardIncidents)") }
      exit(right)
    }
  }

  @Test("a body that waits for its queue in an immediate task is detected as nested")
  func immediate() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let scene = Scene()
      scene.queue.sync {
        Task.immediate { scene.queue.sync { scene.hasMet.store(true, ordering: .releasing) } }
        guard scene.hasMet.load(ordering: .acquiring) else { complain("not at once") }
      }
      guard Shield.guardIncidents.map(\.kind) == [.queue] else { complain("\(Shield.guardIncidents)") }
      exit(right)
    }
  }

  @Test("a guarded sync throws the body's typed error, and the queue is free afterwards")
  func thrown() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let queue = ShieldedQueue(label: "one")
      do throws(ShieldFault) {
        try queue.sync { () throws(ShieldFault) in throw .leaked }
        complain("nothing thrown")
      } catch {
        guard error == .leaked else { complain("\(error)") }
      }
      guard queue.sync({ 5 }) == 5, Shield.guardIncidents.isEmpty else { complain("\(Shield.guardIncidents)") }
      exit(right)
    }
  }

  @Test("sync and async bodies of four threads never run two at a time")
  func exclusion() async {
    await #expect(processExitsWith: .exitCode(right)) {
      let queue = ShieldedQueue(label: "one")
      let place = Place()
      DispatchQueue.concurrentPerform(iterations: 4) { _ in
        for _ in 0..<250 {
          queue.sync { place.enter() }
          queue.async { place.enter() }
        }
      }
      queue.sync { place.enter() }
      guard Shield.guardIncidents.isEmpty else { complain("\(Shield.guardIncidents)") }
      exit(right)
    }
  }
}

/// The two bodies (closures on the queue) that a test runs.
///
/// The first one creates a task, which must not run at the same time as the second one.
private final class Scene: Sendable {
  let queue = ShieldedQueue(label: "one")
  let hasMet = Atomic<Bool>(false)
  private let isTaken = Atomic<Bool>(false)
  private let task = Mutex<Task<Void, Never>?>(nil)
  private let (isGo, isWaiting, isIn, isOver) = (event(), event(), event(), event())

  /// The first body.
  func begin() {
    let task = Task { later() }
    self.task.withLock { $0 = task }
  }

  /// The second body.
  func stay() {
    isTaken.store(true, ordering: .releasing)
    isGo.signal()
    isWaiting.wait()
    // The task now waits for the queue, or soon will. If it could run at the same time as this body, it would do so
    // within this time.
    _ = isIn.wait(timeout: .now() + .milliseconds(200))
    isTaken.store(false, ordering: .releasing)
    isOver.signal()
  }

  func end() async {
    await withCheckedContinuation { continuation in
      Thread { [self] in
        isOver.wait()
        continuation.resume()
      }.start()
    }
    await task.withLock { $0 }?.value
  }

  private func later() {
    isGo.wait()
    isWaiting.signal()
    queue.sync {
      hasMet.store(isTaken.load(ordering: .acquiring), ordering: .releasing)
      isIn.signal()
    }
  }
}

private func event() -> DispatchSemaphore { DispatchSemaphore(value: 0) }

/// Checks that only one body at a time runs.
private final class Place: Sendable {
  private let inside = Atomic<Int>(0)

  func enter() {
    guard inside.add(1, ordering: .acquiringAndReleasing).newValue == 1 else { complain("two at a time") }
    inside.subtract(1, ordering: .acquiringAndReleasing)
  }
}
