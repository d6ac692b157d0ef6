internal import CrashShield
internal import ServiceLifecycle

/// Drains the quarantine when a server has shut down, so that deferred deinits run before the process exits.
///
/// This service must come directly after the metrics in the group, because a group ends its services in reverse order.
struct QuarantineDrain: Service {
  private let drain: @Sendable () -> Void

  init(drain: @escaping @Sendable () -> Void = Shield.drainQuarantine) { self.drain = drain }

  /// Waits for the group's graceful shutdown or for cancellation, then drains the quarantine and returns.
  func run() async throws {
    defer { drain() }
    try await gracefulShutdown()
  }
}
