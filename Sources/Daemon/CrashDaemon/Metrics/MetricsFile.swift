import Glibc
import Logging
import ServiceLifecycle

/// Writes the metrics to a file at a fixed interval, for the textfile collector of node_exporter.
///
/// Each write replaces the file atomically.
struct MetricsFile: Service {
  var interface: CrashdInterface
  var settings: LiveSettings
  var logger: Logger

  func run() async throws {
    await cancelWhenGracefulShutdown { await follow() }
  }

  private func follow() async {
    var writing: Task<Void, Never>?
    for await values in settings.changes() {
      writing?.cancel()
      await writing?.value
      writing = nil
      guard let path = values.metricsFile else { continue }
      writing = Task { await write(to: path, every: values.metricsInterval_s) }
    }
    writing?.cancel()
    await writing?.value
  }

  private func write(to path: String, every interval_s: Int) async {
    var isTold = false
    while !Task.isCancelled {
      do {
        try SmallFile.replace(path, by: try await interface.metricsText())
        isTold = false
      } catch {
        if !isTold { logger.warning("cannot write metrics: \(error)") }
        isTold = true
      }
      do { try await Task.sleep(for: .seconds(max(1, interval_s))) } catch { return }
    }
  }
}
