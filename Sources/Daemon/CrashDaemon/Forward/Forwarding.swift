import CrashStore
import Logging
import ServiceLifecycle

/// Runs one forwarder for each collector of the current settings, and stops those of removed ones.
actor Forwarding: Service {
  private let configuration: Forwarder.Configuration
  private var running: [ForwardSettings: Task<Void, Never>] = [:]

  init(_ configuration: Forwarder.Configuration) {
    self.configuration = configuration
    // A new collector begins with what is stored from now on, and nothing is stored yet.
    for forward in configuration.settings.current.forward {
      // The forwarder retries, and logs why it fails.
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
      // A collector with the same path may follow, and resumes where this one ended.
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
