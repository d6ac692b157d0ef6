import CrashShield
import CrashShieldGuards
import Dispatch
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// `dangling-server none|zero|absorb|diagnose [own]`: serves requests until SIGTERM, then prints the counters of the
/// quarantine as one line of JSON.
///
/// The first argument is the policy by which classes are protected, or `none`. Without `own`, these are the server's
/// classes and those of NIO, which is linked statically.
@main
enum Main {
  static func main() throws {
    let policies: [String: DanglingPolicy] = ["zero": .zero, "absorb": .absorb, "diagnose": .diagnose]
    let way = CommandLine.arguments.dropFirst().first ?? "none"
    var classes = 0
    if let policy = policies[way] {
      // With `own`, only the classes of the server's own module are protected. `absorb` needs `own`: it delays deinits,
      // and some deinits of NIO remove the object from a collection.
      let isOwn = CommandLine.arguments.contains("own")
      classes = try Shield.protect(isOwn ? .module("dangling_server") : .ownClasses, policy: policy).protected.count
    }
    let group = MultiThreadedEventLoopGroup(numberOfThreads: 2)
    let channel = try ServerBootstrap(group: group)
      .serverChannelOption(.backlog, value: 256)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.configureHTTPServerPipeline()
          try channel.pipeline.syncOperations.addHandler(Handler())
        }
      }
      .bind(host: "127.0.0.1", port: 0).wait()
    print(channel.localAddress?.port ?? 0)
    fflush(nil)
    waitForEnd()
    try channel.close().wait()
    // Closes the remaining connections.
    try group.syncShutdownGracefully()
    report(classes)
  }

  /// Waits for SIGTERM.
  private static func waitForEnd() {
    let end = DispatchSemaphore(value: 0)
    signal(SIGTERM, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
    source.setEventHandler { end.signal() }
    source.resume()
    end.wait()
    source.cancel()
  }

  private static func report(_ classes: Int) {
    let held = Shield.danglingBytes
    Shield.drainQuarantine()
    let statistics = Shield.danglingStatistics()
    let sum = { (key: KeyPath<DanglingStatistics, Int>) in statistics.reduce(0) { $0 + $1[keyPath: key] } }
    print(
      """
      {"classes": \(classes), "admitted": \(sum(\.admitted)), "evicted": \(sum(\.evicted)), "hits": \(sum(\.hits)), \
      "skipped_busy": \(sum(\.skipped.busy)), "skipped_unowned": \(sum(\.skipped.unowned)), \
      "skipped_budget": \(sum(\.skipped.budget)), "skipped_isolated": \(sum(\.skipped.isolated)), \
      "held_bytes": \(held), "bytes_after": \(Shield.danglingBytes), \
      "living_after": \(Counted.living.load(ordering: .sequentiallyConsistent))}
      """)
    fflush(nil)
  }
}
