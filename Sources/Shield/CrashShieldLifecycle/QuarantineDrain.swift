internal import CrashShield
public import ServiceLifecycle

/// Drains the quarantine when a server has shut down, so that deferred deinits run before it exits.
///
/// Must be the first service of a group, because a group shuts down its first service last. A process that simply exits
/// loses such deinits, as it loses those of all live objects.
public struct QuarantineDrain: Service {
  private let drain: @Sendable () -> Void

  /// Creates the service.
  public init() { self.init(drain: Shield.drainQuarantine) }

  init(drain: @escaping @Sendable () -> Void) { self.drain = drain }

  /// Drains and returns at the group's graceful shutdown, or when it is cancelled.
  public func run() async throws {
    defer { drain() }
    try await gracefulShutdown()
  }
}
