import FleetStore
import Logging
import ServiceLifecycle

/// Creates and drops partitions each hour.
struct MaintenanceService: Service {
  let store: FleetStore
  let outage: Outage
  let log: Logger

  private static let interval = Duration.seconds(3_600)
  private static let retry = Duration.seconds(30)

  func run() async throws {
    await cancelWhenGracefulShutdown {
      while !Task.isCancelled {
        let delay: Duration
        do throws(FleetError) {
          try await store.maintain()
          outage.succeed()
          delay = Self.interval
        } catch {
          if !outage.fail(error) { log.warning("cannot create partitions now: \(error)") }
          delay = Self.retry
        }
        // A cancellation ends the loop.
        try? await Task.sleep(for: delay)
      }
    }
  }
}
