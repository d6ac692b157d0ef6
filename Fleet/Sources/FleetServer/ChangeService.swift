import FleetStore
import ServiceLifecycle
import Synchronization

/// Announces to the pages which tenants have new crashes, a few times a second at most.
final class ChangeService: Service {
  private let store: FleetStore
  private let changed = Mutex(Set<Int32>())
  private let (signals, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

  /// The time between two announcements.
  private static let interval = Duration.milliseconds(250)

  init(store: FleetStore) { self.store = store }

  /// Records that a batch of this tenant was committed.
  func add(_ tenant: Int32) {
    changed.withLock { _ = $0.insert(tenant) }
    signal.yield()
  }

  func run() async throws {
    for await _ in signals.cancelOnGracefulShutdown() {
      let tenants = changed.withLock { changed in
        defer { changed = [] }
        return changed
      }
      // After a failure, open pages show the crashes later, because they also reload by themselves.
      try? await store.announce(tenants)
      // A cancellation ends the loop.
      try? await Task.sleep(for: Self.interval)
    }
  }
}
