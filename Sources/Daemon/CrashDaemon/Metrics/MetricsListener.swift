import LinuxSystem
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import ServiceLifecycle

/// Serves the metrics over HTTP at the addresses in the settings, so that Prometheus can scrape them.
///
/// By default, the settings contain no address.
struct MetricsListener: Service {
  var interface: CrashdInterface
  var settings: LiveSettings
  var logger: Logger

  func run() async throws {
    await cancelWhenGracefulShutdown { await follow() }
  }

  private func follow() async {
    let scrapes = MetricsScrapes(interface: interface)
    var serving: Task<Void, Never>?
    var current: [MetricsAddress] = []
    for await values in settings.changes() where values.metricsAddresses != current {
      serving?.cancel()
      await serving?.value
      current = values.metricsAddresses
      serving = Task { [current] in
        await withDiscardingTaskGroup { group in
          for address in current { group.addTask { await serve(address, scrapes) } }
        }
      }
    }
    serving?.cancel()
    await serving?.value
  }

  /// Serves the metrics at one address until the task is canceled.
  ///
  /// If crashd cannot bind the address, the function tries again after a pause: the address may be added to an
  /// interface later, or another program may use it only for a while.
  private func serve(_ address: MetricsAddress, _ scrapes: MetricsScrapes) async {
    var backoff = Backoff()
    var told = ""
    while !Task.isCancelled {
      do {
        let channel = try await listen(address.host, address.port, scrapes)
        logger.info("serving metrics at \(channel.localAddress.map(MetricsAddress.url) ?? address.host)")
        (backoff, told) = (Backoff(), "")
        await withTaskCancellationHandler {
          // Ignore an error of the listener, because the loop then binds the address again.
          do { try await channel.closeFuture.get() } catch {}
        } onCancel: {
          channel.close(promise: nil)
        }
      } catch {
        let problem = "cannot serve metrics at '\(address.host)' port \(address.port), retrying: \(error)"
        if problem != told { logger.error("\(problem)") }
        told = problem
      }
      do { try await Task.sleep(for: backoff.delay()) } catch { return }
    }
  }

  private func listen(_ host: String, _ port: Int, _ scrapes: MetricsScrapes) async throws -> any Channel {
    try await ServerBootstrap(group: .singletonMultiThreadedEventLoopGroup)
      .serverChannelOption(.backlog, value: 16)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try ScrapeHandler.add(to: channel, scrapes)
        }
      }
      .bind(host: host, port: port).get()
  }
}
