// A conformance by which a transition queue can be set as its own delegate, for the test of rule T22. The methods are
// public, because the protocol is that of another module.
public import CrashShieldGuards

/// How often the queue has called itself as its delegate; T22 expects 0.
@MainActor var notesToItself = 0

extension TransitionQueue: TransitionDelegate {
  /// Counts the call.
  public func willBegin(_ transition: Transition<Driver.Screen>) { notesToItself += 1 }
  /// Counts the call.
  public func didShow(
    _ screen: Driver.Screen, after transition: Transition<Driver.Screen>, _ end: TransitionEnd
  ) { notesToItself += 1 }
}
