import CrashStore
import Logging
import ServiceLifecycle

/// Sends events to the collectors that the settings name now; others are let go of.
actor Forwarding: Service {
  private let configuration: Forwarder.Configuration
  private var running: [ForwardSettings: Task<Void, Never>] = [:]

  init(_ configuration: Forwarder.Configuration) {
    self.configuration = configuration
    // Who is new begins with what is stored from now on, and nothing is stored yet.
    for forward in configuration.settings.current.forward {
      // The forwarder tries it again, and tells why it cannot.
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
      // One with the same path may follow, and goes on where this one has ended.
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
