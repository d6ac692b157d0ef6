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

  /// Waits for the first one; nil when none came in five minutes, which only a failing test meets.
  func first() -> Shield.Status? {
    guard arrival.wait(timeout: .now() + .seconds(300)) == .success else { return nil }
    return statuses.withLock { $0.first }
  }
}
