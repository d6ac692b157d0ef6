internal import CrashShield
public import ServiceLifecycle

/// Annotates crash reports with the server's phase: running, or shutting down.
///
/// Must be the last service of a group, because a group shuts down its last service first:
///
/// ```swift
/// let group = ServiceGroup(
///   services: [QuarantineDrain(), database, server, ShutdownNote()], gracefulShutdownSignals: [.sigterm], logger: logger)
/// ```
///
/// The report has the annotation `phase`, and a breadcrumb of the start of the shutdown. Call `Shield.start` before
/// creating the group: an earlier crash is not recorded.
public struct ShutdownNote: Service {
  private let note: @Sendable (_ phase: String) -> Void

  /// Creates the service.
  public init() {
    self.init { phase in
      Shield.annotate("phase", phase)
      Shield.breadcrumb("phase: \(phase)")
    }
  }

  init(note: @escaping @Sendable (_ phase: String) -> Void) { self.note = note }

  /// Returns at the group's graceful shutdown.
  ///
  /// - Throws: `CancellationError` if it is cancelled instead.
  public func run() async throws {
    note("running")
    defer { note("shutting down") }
    try await gracefulShutdown()
  }
}
