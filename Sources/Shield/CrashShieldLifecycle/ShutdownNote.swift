internal import CrashShield
public import ServiceLifecycle

/// Has reports say whether a server was running or on its way down when it crashed.
///
/// As the last service of a group, because a group tells the last one of its shutdown first:
///
/// ```swift
/// let group = ServiceGroup(
///   services: [QuarantineDrain(), database, server, ShutdownNote()], gracefulShutdownSignals: [.sigterm], logger: logger)
/// ```
///
/// The report has the annotation `phase`, and a breadcrumb when the shutdown began. `Shield.start` comes before the group
/// is made: what crashes before is not seen.
public struct ShutdownNote: Service {
  private let note: @Sendable (_ phase: String) -> Void

  /// Makes the service.
  public init() {
    self.init { phase in
      Shield.annotate("phase", phase)
      Shield.breadcrumb("phase: \(phase)")
    }
  }

  init(note: @escaping @Sendable (_ phase: String) -> Void) { self.note = note }

  /// Returns when the group shuts down.
  ///
  /// - Throws: `CancellationError` when it is cancelled instead.
  public func run() async throws {
    note("running")
    defer { note("shutting down") }
    try await gracefulShutdown()
  }
}
