// A queue that could be its own delegate, for rule T22. What a protocol of another module wants is public.
public import CrashShieldGuards

/// How often a queue was told of its own transitions.
@MainActor var toldToItself = 0

extension TransitionQueue: TransitionDelegate {
  /// Counted.
  public func willBegin(_ transition: Transition<Driver.Screen>) { toldToItself += 1 }
  /// Counted.
  public func didShow(
    _ screen: Driver.Screen, after transition: Transition<Driver.Screen>, _ end: TransitionEnd
  ) { toldToItself += 1 }
}
