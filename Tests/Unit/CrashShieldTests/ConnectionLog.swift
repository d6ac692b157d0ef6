import CrashShield
import Dispatch
import Synchronization

/// The changes of the connection that a shield has reported, in order.
final class ConnectionLog: Sendable {
  private let changes = Mutex<[Shield.Connection]>([])
  private let arrival = DispatchSemaphore(value: 0)

  func append(_ status: Shield.Status) {
    guard let connection = status.connection else { return }
    changes.withLock { $0.append(connection) }
    arrival.signal()
  }

  /// Waits for the first change.
  ///
  /// Returns nil after five minutes without a change. Only a failing test waits so long.
  func first() -> Shield.Connection? {
    guard arrival.wait(timeout: .now() + .seconds(300)) == .success else { return nil }
    return changes.withLock { $0.first }
  }
}
