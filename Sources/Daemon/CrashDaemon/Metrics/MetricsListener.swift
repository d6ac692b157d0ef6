import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import ServiceLifecycle

/// Serves the metrics by HTTP at the addresses of the settings, for Prometheus to scrape; none by default.
struct MetricsListener: Service {
  var interface: CrashdInterface
  var settings: LiveSettings
  var logger: Logger

  func run() async throws {
    await cancelWhenGracefulShutdown { await follow() }
  }

  private func follow() async {
    let scrapes = MetricsScrapes(interface: interface)
    var listening: [any Channel] = []
    var current: [MetricsAddress] = []
    for await values in settings.changes() where values.metricsAddresses != current || listening.isEmpty {
      await Self.close(listening)
      (listening, current) = ([], values.metricsAddresses)
      for address in current {
        do {
          let channel = try await listen(address.host, address.port, scrapes)
          listening.append(channel)
          logger.info("serving metrics at \(channel.localAddress.map(MetricsAddress.url) ?? address.host)")
        } catch {
          logger.error("cannot serve metrics at '\(address.host)' port \(address.port): \(error)")
        }
      }
    }
    await Self.close(listening)
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

  private static func close(_ channels: [any Channel]) async {
    // A listener that is closed already needs no more.
    for channel in channels { do { try await channel.close() } catch {} }
  }
}
