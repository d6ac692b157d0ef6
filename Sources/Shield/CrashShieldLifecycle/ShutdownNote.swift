internal import CrashShield
internal import ServiceLifecycle

/// Annotates crash reports with the server's phase, running or shutting down, and leaves a breadcrumb of each.
///
/// The last service: a group ends its last service first.
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
  /// - Throws: `CancellationError` if it is cancelled instead.
  func run() async throws {
    note("running")
    defer { note("shutting down") }
    try await gracefulShutdown()
  }
}
