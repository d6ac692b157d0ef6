import FleetStore
import Logging
import ServiceLifecycle

/// Each minute, moves groups to one issue if they are the same crashes under keys of different crashd versions.
struct KeyService: Service {
  let store: FleetStore
  let outage: Outage
  let metrics: FleetMetrics
  let log: Logger

  private static let interval = Duration.seconds(60)

  func run() async throws {
    await cancelWhenGracefulShutdown {
      while !Task.isCancelled {
        do throws(FleetError) {
          metrics.set(ambiguousKeys: try await store.joinKeys(report))
        } catch {
          // When the service stops, it cancels its calls, which is not an outage.
          if Task.isCancelled { return }
          if !outage.fail(error) { log.warning("cannot compare keys of groups now: \(error)") }
        }
        // A cancellation ends the loop.
        try? await Task.sleep(for: Self.interval)
      }
    }
  }

  private func report(_ key: FleetStore.JoinedKey) {
    metrics.addJoinedKey()
    log.notice(
      "group \(key.key) of '\(key.program)' joined issue \(key.joined), which has a key of another version",
      metadata: ["left": "\(key.left)", "version": "\(key.version)"])
  }
}
