// A conformance by which a transition queue could be its own delegate, for rule T22. The methods are public, because
// the protocol belongs to another module.
public import CrashShieldGuards

/// The number of times that the queue has notified itself about its own transitions.
@MainActor var notesToItself = 0

extension TransitionQueue: TransitionDelegate {
  /// Counts the call.
  public func willBegin(_ transition: Transition<Driver.Screen>) { notesToItself += 1 }
  /// Counts the call.
  public func didShow(
    _ screen: Driver.Screen, after transition: Transition<Driver.Screen>, _ end: TransitionEnd
  ) { notesToItself += 1 }
}
