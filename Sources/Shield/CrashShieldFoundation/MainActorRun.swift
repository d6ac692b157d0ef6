internal import CrashShield
internal import CrashShieldGuards
internal import Foundation
internal import Synchronization

extension MainActor {
  /// Runs the body on the main actor: at once on the main thread, else later, which is recorded as `isolation`.
  ///
  /// In place of `MainActor.assumeIsolated`, which ends the process elsewhere. Bodies from one thread run in their order. Never
  /// waits. Where the main queue has not run it after a second, as in a server whose main thread does other work, that
  /// is recorded, too. `off` and `observe`: as `assumeIsolated`.
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
      // Another fault than that of the caller, at the same place.
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

  /// Whether this thread works for it: after `dispatchMain`, as in a program whose `main` is async, any may.
  static var isCurrent: Bool { DispatchQueue.getSpecific(key: key) == true || Thread.isMainThread }
}

/// Whether the main queue has come to a body.
private final class MainRun: Sendable {
  let hasBegun = Atomic<Bool>(false)
}
