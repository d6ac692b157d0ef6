internal import CrashShield
internal import CrashShieldGuards
internal import Foundation
internal import Synchronization

extension MainActor {
  /// Runs the body on the main actor: at once on the main thread, else later, which is recorded as `isolation`.
  ///
  /// In place of `MainActor.assumeIsolated`, which ends the process elsewhere. Bodies from one thread run in order.
  /// Never waits. If the main queue has not run a body after a second, as in a server whose main thread does other
  /// work, that is recorded, too. `off` and `observe`: as `assumeIsolated`.
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
      // A separate fault at the same call site.
      _ = Shield.handleFault(.isolation, at: site, apart: 1) {
        "the main queue has not run what it was given a second ago"
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

  /// Whether this thread serves the main queue: after `dispatchMain`, as in a program with an async `main`, any thread
  /// may.
  static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true || Thread.isMainThread }
}

/// Whether the main queue has run a body.
private final class MainRun: Sendable {
  let hasBegun = Atomic<Bool>(false)
}
