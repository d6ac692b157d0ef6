public import CrashShieldServer
public import ServiceLifecycle

/// A service that shuts its service group down gracefully when the process drains.
///
/// After a trap, a draining process accepts no new connections, finishes its requests, and ends.
///
/// ```swift
/// let group = ServiceGroup(
///   configuration: .init(
///     services: [.init(service: server), DrainService(drain).configuration], gracefulShutdownSignals: [.sigterm],
///     logger: logger))
/// ```
///
/// Pass `configuration` to the group instead of the service itself: by default, a group ends with an error when one of
/// its services returns. The shutdown closes the listening socket, so clients cannot connect until the next process
/// listens. The shutdown also closes idle connections. `InheritedServer` does not need this service, because it stops
/// accepting connections without a shutdown.
public struct DrainService: Service {
  private let drain: Drain

  /// Creates the service.
  public init(_ drain: Drain) { self.drain = drain }

  /// The service, and the setting that shuts the group down gracefully when `run()` returns.
  public var configuration: ServiceGroupConfiguration.ServiceConfiguration {
    .init(service: self, successTerminationBehavior: .gracefullyShutdownGroup)
  }

  /// Waits until the drain begins, or until the group shuts down gracefully.
  public func run() async throws {
    let (begins, continuation) = AsyncStream.makeStream(of: Void.self)
    drain.onBegin { continuation.finish() }
    await cancelWhenGracefulShutdown { for await _ in begins {} }
  }
}
