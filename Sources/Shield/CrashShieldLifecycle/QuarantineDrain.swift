internal import CrashShield
public import ServiceLifecycle

/// Ends what the quarantine keeps when a server has shut down, so that deinits that were put off run before it exits.
///
/// As the first service of a group, because a group ends the first one last. A process that simply exits loses such deinits
/// as it loses those of all living objects.
public struct QuarantineDrain: Service {
  private let drain: @Sendable () -> Void

  /// Makes the service.
  public init() { self.init(drain: Shield.drainQuarantine) }

  init(drain: @escaping @Sendable () -> Void) { self.drain = drain }

  /// Drains and returns when the group shuts down, or is cancelled.
  public func run() async throws {
    defer { drain() }
    try await gracefulShutdown()
  }
}
