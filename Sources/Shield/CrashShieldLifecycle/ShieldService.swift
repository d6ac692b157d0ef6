public import CrashShieldMetrics
public import Logging
public import ServiceLifecycle

/// A service that runs the services of a server and the shutdown steps of the shield.
///
/// ```swift
/// let shield = ShieldService(around: [database, server], metrics: ShieldMetrics(), logger: logger)
/// let group = ServiceGroup(services: [shield], gracefulShutdownSignals: [.sigterm], logger: logger)
/// try await group.run()
/// ```
///
/// The services run in a group of their own. At a graceful shutdown, the following steps happen in this order:
/// 1. Reports get the tag `phase: shutting down` and a breadcrumb, before any service ends.
/// 2. The services end, in reverse order.
/// 3. The quarantine runs the deinits that it has deferred, because they would not run at the exit of the process.
/// 4. The metrics are published one last time.
///
/// Some frameworks, such as Hummingbird with `addServices`, have a group of their own. In that group, add a
/// `ShieldService` without services as the first service. The tag `phase` then changes only when the other services
/// have ended. Call `Shield.start` before creating the group, because earlier crashes are not recorded.
public struct ShieldService: Service {
  private let services: [any Service]
  private let logger: Logger

  /// Creates the service.
  ///
  /// - Parameters:
  ///   - services: The services of the server, in the order of a `ServiceGroup`.
  ///   - metrics: The metrics to publish; if nil, no metrics are published and no timer runs.
  ///   - interval: The time between two updates of the metrics.
  ///   - logger: Logs the state of the services, as a `ServiceGroup` does.
  public init(
    around services: [any Service] = [], metrics: ShieldMetrics? = nil, every interval: Duration = .seconds(10),
    logger: Logger
  ) {
    self.init(
      around: services, metrics: metrics.map { metrics in MetricsRun { await metrics.run(every: interval) } },
      drain: QuarantineDrain(), note: ShutdownNote(), logger: logger)
  }

  init(
    around services: [any Service], metrics: MetricsRun?, drain: QuarantineDrain, note: ShutdownNote, logger: Logger
  ) {
    // A group ends its services in reverse order: first the shutdown note, then the server's services, the drain and
    // the metrics.
    let first: [any Service] = metrics.map { [$0, drain] } ?? [drain]
    self.services = first + services + [note]
    self.logger = logger
  }

  /// Runs until the services have ended, after the graceful shutdown of the group or its cancellation.
  ///
  /// - Throws: The error that a `ServiceGroup` of the services throws.
  public func run() async throws {
    try await ServiceGroup(services: services, logger: logger).run()
  }
}

/// Publishes metrics until the graceful shutdown, and once more at the shutdown.
struct MetricsRun: Service {
  private let publish: @Sendable () async -> Void

  init(_ publish: @escaping @Sendable () async -> Void) { self.publish = publish }

  func run() async throws {
    let publish = publish
    await cancelWhenGracefulShutdown { await publish() }
  }
}
