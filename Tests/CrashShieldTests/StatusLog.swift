import CrashShield
import Dispatch
import Synchronization

/// The statuses that a shield reported, in their order.
final class StatusLog: Sendable {
  private let statuses = Mutex<[Shield.Status]>([])
  private let arrival = DispatchSemaphore(value: 0)

  func append(_ status: Shield.Status) {
    statuses.withLock { $0.append(status) }
    arrival.signal()
  }

  /// Waits for the first one; nil when none came in ten seconds.
  func first() -> Shield.Status? {
    guard arrival.wait(timeout: .now() + .seconds(10)) == .success else { return nil }
    return statuses.withLock { $0.first }
  }
}
