import CrashShield
import Foundation
import Synchronization

/// Executor checks that must not fail: those in correctly isolated code, and those that may return false.
enum Correct {
  /// Runs all checks, then ends the process.
  static func begin() {
    Task.detached {
      await checks()
      await questions()
      tell("right")
      tellRecords()
      exit(0)
    }
  }

  /// Runs checks in correctly isolated code.
  private static func checks() async {
    let teller = Fault.teller
    let loop = teller.executor
    await MainActor.run { assumeMain() }
    await Task { @MainActor in requireMain() }.value
    await Fault.counter.verify()
    await teller.verify()
    await Fault.silent.verify()
    // These checks run outside of a task, so only the executor can answer them.
    await later({ DispatchQueue.main.async(execute: $0) }, assumeMain)
    await later(
      { body in DispatchQueue.main.async { DispatchQueue(label: "in main").sync(execute: body) } }, requireMain)
    await later(loop.execute) { assumeTeller(teller) }
    await later(loop.execute) { requireTeller(teller) }
    await later(Telling.executor.execute) { Fault.told.changed() }
    await later(Fault.silent.executor.loop.execute) { requireSilent(Fault.silent) }
  }

  /// Runs checks that ask for the isolation, and may get the answer false.
  private static func questions() async {
    await Task.immediate { @MainActor in Screen.shared.draw() }.value
    await Task.immediate { @Telling in Fault.told.changed() }.value
    // These casts must fail, because this context is on neither of the actors to which the conformances are isolated.
    let values: [Any] = [Window(), Told()]
    if values.contains(where: { $0 is any Shown }) { tell("wrong: a conformance applies off its actor") }
    await withCheckedContinuation { continuation in _ = Leaving { continuation.resume() } }
  }

  private static func later(
    _ schedule: (@escaping @Sendable () -> Void) -> Void, _ body: @escaping @Sendable () -> Void
  ) async {
    await withCheckedContinuation { continuation in
      schedule {
        body()
        continuation.resume()
      }
    }
  }
}

protocol Shown {}
extension Window: @MainActor Shown {}
extension Told: @Telling Shown {}

/// An object that is released outside of the actor on which its deinit must run.
@Telling
final class Leaving {
  nonisolated let hasLeft: @Sendable () -> Void

  nonisolated init(_ hasLeft: @escaping @Sendable () -> Void) { self.hasLeft = hasLeft }

  isolated deinit { hasLeft() }
}
