internal import CrashShield
internal import ServiceLifecycle

/// Sets the tag `phase` to the server's phase, running or shutting down, and records a breadcrumb at each change.
///
/// This service must be the last one in the list of its group. A group ends its services in reverse order, so this
/// service ends first and notes the shutdown before any other service ends.
struct ShutdownNote: Service {
  private let note: @Sendable (_ phase: String) -> Void

  init() {
    self.init { phase in
      Shield.setTag("phase", to: phase)
      Shield.addBreadcrumb("phase: \(phase)", level: .notice, category: "lifecycle")
    }
  }

  init(note: @escaping @Sendable (_ phase: String) -> Void) { self.note = note }

  /// Returns at the group's graceful shutdown.
  ///
  /// - Throws: `CancellationError` if the service is cancelled instead.
  func run() async throws {
    note("running")
    defer { note("shutting down") }
    try await gracefulShutdown()
  }
}
