internal import CrashShield
internal import CrashShieldGuards
internal import Foundation
internal import Synchronization

extension MainActor {
  /// Runs the body on the main actor: at once on the main thread; on another thread, runs it later and records the
  /// fault as `isolation`.
  ///
  /// Replaces `MainActor.assumeIsolated`, which ends the process on another thread. Bodies from one thread run in the
  /// order of their calls. The call does not wait for the body. If the main queue has not run the body within one
  /// second, another incident is recorded. The main queue is late, for example, in a server whose main thread does
  /// other work. Under `off` and `observe`, the guard behaves like `assumeIsolated`.
  public static func shieldedRun(
    fileID: StaticString = #fileID, line: UInt = #line, _ body: @escaping @MainActor @Sendable () -> Void
  ) {
    if MainQueue.isCurrent { return assumeIsolated(body) }
    let site = ShieldSite(fileID: fileID, line: line)
    let isAbsorbed = Shield.handleFault(.isolation, at: site) { "work of the main actor on another thread" }
    guard isAbsorbed else { return assumeIsolated(body) }
    let run = MainRun()
    DispatchQueue.main.async {
      run.hasBegun.store(true, ordering: .releasing)
      assumeIsolated(body)
    }
    DispatchQueue.global().asyncAfter(deadline: .now() + .seconds(1)) {
      if run.hasBegun.load(ordering: .acquiring) { return }
      // Record a second incident for the same call site.
      _ = Shield.handleFault(.isolation, at: site, apart: 1) {
        "the main queue has not run a body for one second"
      }
    }
  }
}

/// The queue of the main actor.
private enum MainQueue {
  private static let key: DispatchSpecificKey<Bool> = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
  }()

  /// Whether this thread serves the main queue.
  ///
  /// After `dispatchMain`, which a program with an async `main` calls, any thread can serve the main queue.
  static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true || Thread.isMainThread }
}

/// Records whether the main queue has started to run a body.
private final class MainRun: Sendable {
  let hasBegun = Atomic<Bool>(false)
}
