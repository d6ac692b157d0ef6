import LinuxSystem
import ServiceLifecycle

/// Notifies systemd that crashd is ready, and that it stops.
///
/// One of the last services to start and of the first to stop.
struct Readiness: Service {
  let notifier: Notifier

  func run() async throws {
    // What else there is to say is the status line's.
    notifier.send("READY=1")
    try await gracefulShutdown()
    // A full queue, such as a test's, must not keep crashd from ending.
    _ = notifier.connection()?.send("STOPPING=1\nSTATUS=Storing what is left")
  }
}
