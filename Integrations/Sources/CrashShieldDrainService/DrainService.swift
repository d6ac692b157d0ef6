public import CrashShieldServer
public import ServiceLifecycle

/// A service that shuts its group down gracefully when the process drains.
///
/// ```swift
/// let group = ServiceGroup(
///   configuration: .init(
///     services: [.init(service: server), DrainService(drain).configuration], gracefulShutdownSignals: [.sigterm],
///     logger: logger))
/// ```
///
/// Use `configuration` instead of the service itself, because by default a group ends with an error when a service
/// returns. The shutdown closes the listening socket, so that clients cannot connect until the next process listens. It
/// also closes idle connections. A server on an inherited socket stops accepting without a shutdown.
public struct DrainService: Service {
  private let drain: Drain

  /// Creates the service.
  public init(_ drain: Drain) { self.drain = drain }

  /// The service with the settings under which its end shuts the group down gracefully.
  public var configuration: ServiceGroupConfiguration.ServiceConfiguration {
    .init(service: self, successTerminationBehavior: .gracefullyShutdownGroup)
  }

  /// Returns when the drain begins, or at the graceful shutdown of the group.
  public func run() async throws {
    let (begins, continuation) = AsyncStream.makeStream(of: Void.self)
    drain.onBegin { continuation.finish() }
    await cancelWhenGracefulShutdown { for await _ in begins {} }
  }
}
