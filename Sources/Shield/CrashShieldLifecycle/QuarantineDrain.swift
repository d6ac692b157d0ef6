internal import CrashShield
internal import ServiceLifecycle

/// Drains the quarantine when a server has shut down, so that deferred deinits run before the process exits.
///
/// It must be the first service after the metrics: a group ends its services in reverse order.
struct QuarantineDrain: Service {
  private let drain: @Sendable () -> Void

  init(drain: @escaping @Sendable () -> Void = Shield.drainQuarantine) { self.drain = drain }

  /// Drains and returns at the group's graceful shutdown, or when it is cancelled.
  func run() async throws {
    defer { drain() }
    try await gracefulShutdown()
  }
}
