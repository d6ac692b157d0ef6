import CrashStore
import Logging
import ServiceLifecycle

/// Runs one forwarder for each collector in the current settings, and stops the forwarders of removed collectors.
actor Forwarding: Service {
  private let configuration: Forwarder.Configuration
  private var running: [ForwardSettings: Task<Void, Never>] = [:]

  init(_ configuration: Forwarder.Configuration) {
    self.configuration = configuration
    // The function `enter` registers a collector. A new collector receives only the events that are stored after its
    // registration. Therefore, register the collectors here, before crashd stores its first event.
    for forward in configuration.settings.current.forward {
      // Ignore an error here, because the forwarder later calls `enter` again and logs the reason.
      _ = try? Forwarder(forward: forward, configuration: configuration).enter()
    }
  }

  func run() async throws {
    await cancelWhenGracefulShutdown { await self.follow() }
    for task in running.values { task.cancel() }
    for task in running.values { await task.value }
  }

  private func follow() async {
    for await settings in configuration.settings.changes() { await start(settings.forward) }
  }

  private func start(_ wanted: [ForwardSettings]) async {
    for (forward, task) in running where !wanted.contains(forward) {
      task.cancel()
      running[forward] = nil
      // Wait until the task of the removed collector has ended. The new settings can contain a collector with the same
      // path, which continues at the stored cursor of the removed collector.
      await task.value
      configuration.counts.forget(forward.path)
    }
    for forward in wanted where running[forward] == nil {
      let forwarder = Forwarder(forward: forward, configuration: configuration)
      configuration.counts.change(forward.path) { _ in }
      running[forward] = Task { await forwarder.run() }
      configuration.logger.info("forwarding events to '\(forward.path)' as \(forward.format.rawValue)")
    }
  }
}
