internal import CrashShield
internal import CrashShieldGuards
public import Foundation
internal import Synchronization

/// An observation of notifications, which ends when its observer or this object is deallocated.
///
/// Retain this object as long as you need the notifications, because releasing the object ends the observation.
public final class ShieldedObservation: Sendable {
  /// Sendable: the token is used only with the notification center that returned it.
  private struct Token: @unchecked Sendable {
    var value: any NSObjectProtocol
  }

  private let center: NotificationCenter
  private let token = Mutex<Token?>(nil)

  fileprivate init(_ center: NotificationCenter) { self.center = center }

  deinit { cancel() }

  fileprivate func keep(_ value: any NSObjectProtocol) {
    let token = Token(value: value)
    self.token.withLock { $0 = token }
  }

  /// Ends the observation; a second call has no effect.
  public func cancel() {
    let token = token.withLock { token in
      defer { token = nil }
      return token
    }
    if let token { center.removeObserver(token.value) }
  }
}

/// Records whether an observation ended because its observer was deallocated.
private final class ObservationEnd: Sendable {
  let hasCome = Atomic<Bool>(false)
}

extension NotificationCenter {
  /// Calls a function for each notification of a name, as long as the observer is alive.
  ///
  /// Replaces a block that retains `self`, or that can run after `self` was deallocated. If the observer is deallocated
  /// before the observation ends, the next notification ends the observation and is recorded as `notification`. Under
  /// `off` and `observe`, the observation continues but does not call the function. The function runs on the posting
  /// thread.
  ///
  /// ```swift
  /// observation = NotificationCenter.default.shieldedAddObserver(self, forName: .changed) { cache, _ in
  ///   cache.empty()
  /// }
  /// ```
  public func shieldedAddObserver<Observer: AnyObject & Sendable>(
    _ observer: Observer, forName name: Notification.Name, object: Any? = nil, fileID: StaticString = #fileID,
    line: UInt = #line, using body: @escaping @Sendable (Observer, Notification) -> Void
  ) -> ShieldedObservation {
    let site = ShieldSite(fileID: fileID, line: line)
    let observation = ShieldedObservation(self)
    let end = ObservationEnd()
    let token = addObserver(forName: name, object: object, queue: nil) {
      [weak observer, weak observation] notification in
      if let observer { return body(observer, notification) }
      // If several threads post at once, only the first notification records the fault.
      if Shield.mode(for: .notification) == .absorb, end.hasCome.exchange(true, ordering: .acquiringAndReleasing) {
        return
      }
      let isAbsorbed = Shield.handleFault(.notification, at: site) {
        "a \(Observer.self) was deallocated before its observation ended"
      }
      if isAbsorbed { observation?.cancel() }
    }
    observation.keep(token)
    return observation
  }
}
