internal import CrashShield
internal import ServiceLifecycle

/// Drains the quarantine when a server has shut down, so that deferred deinits run before the process exits.
///
/// In its `ServiceGroup`, this service must come before the services of the server and directly after the metrics. A
/// group ends its services in reverse order, so the drain happens after the server's services and before the last
/// metrics.
struct QuarantineDrain: Service {
  private let drain: @Sendable () -> Void

  init(drain: @escaping @Sendable () -> Void = Shield.drainQuarantine) { self.drain = drain }

  /// Waits for the group's graceful shutdown or for cancellation, then drains the quarantine and returns.
  func run() async throws {
    defer { drain() }
    try await gracefulShutdown()
  }
}
