// A queue that could be its own delegate, for rule T22. What a protocol of another module wants is public.
public import CrashShieldGuards

/// How often a queue notified itself of its own transitions.
@MainActor var notesToItself = 0

extension TransitionQueue: TransitionDelegate {
  /// Counted.
  public func willBegin(_ transition: Transition<Driver.Screen>) { notesToItself += 1 }
  /// Counted.
  public func didShow(
    _ screen: Driver.Screen, after transition: Transition<Driver.Screen>, _ end: TransitionEnd
  ) { notesToItself += 1 }
}
