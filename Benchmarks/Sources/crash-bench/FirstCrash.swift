import CrashClient
import CrashProtocol
import Foundation
import Synchronization

/// The first crash of a build, in a process that crashes immediately after its start.
///
/// In each round, crashd has an empty state directory, so that it has not read any symbols.
struct FirstCrash {
  static let rounds = 11
  /// The maximum number of queries for a report in a round, which then fails.
  ///
  /// The client waits half a millisecond between queries.
  private static let attempts = 100_000

  /// Microseconds from the fault until a client receives the first, preliminary report.
  var visible = Samples()
  /// Microseconds from the fault until a client receives the complete report, with symbols.
  var whole = Samples()
  /// Microseconds from the fault until Swift's backtracer has printed its whole report.
  var printed = Samples()
  /// The ratio of `visible` to `printed` in each round.
  var ratio = Samples()

  private struct Seen {
    var visible_ns: UInt64 = 0
    var whole_ns: UInt64 = 0
  }

  /// Causes crashes alternately with crashd and with Swift's backtracer, and measures both.
  static func measure(executable: String, maker: String) throws -> FirstCrash {
    var result = FirstCrash()
    for round in 1...rounds {
      let daemon = try Daemon(executable: executable, name: "first-\(round)")
      defer { daemon.stop() }
      let (visible, whole) = try crash(maker, daemon)
      let printed = try backtraced(maker: maker)
      result.visible.add(visible)
      result.whole.add(whole)
      result.printed.add(printed)
      result.ratio.add(visible / printed)
    }
    return result
  }

  private static func crash(_ maker: String, _ daemon: Daemon) throws -> (visible: Double, whole: Double) {
    let client = CrashClient(socketPath: daemon.clientSocket)
    let seen = Mutex(Seen())
    let isDone = DispatchSemaphore(value: 0)
    // The client queries from the start of the process, because the report can be available before the process ends.
    let watch = Thread {
      for _ in 0..<attempts {
        let newest = try? client.list(ListQuery(limit: 1)).first
        let now_ns = monotonicNow_ns()
        let isOver = seen.withLock { seen in
          guard let newest else { return false }
          if seen.visible_ns == 0 { seen.visible_ns = now_ns }
          if newest.isPreliminary != true { seen.whole_ns = now_ns }
          return newest.isPreliminary != true
        }
        if isOver { break }
        usleep(500)
      }
      isDone.signal()
    }
    watch.start()
    let child = try Child.run(
      maker, [scenario, "--mark"],
      environment: ["CRASHSHIELD_SOCKET": daemon.attachSocket, "SWIFT_BACKTRACE": "enable=no"])
    isDone.wait()
    let times = seen.withLock { $0 }
    guard let fault = faultMark(in: child.output), times.whole_ns > 0 else {
      throw BenchmarkFailure(what: "no report of pid \(child.pid), or no mark: '\(child.output)' '\(child.errors)'")
    }
    return (Double(times.visible_ns - fault) / 1000, Double(times.whole_ns - fault) / 1000)
  }
}

/// Returns the time of the fault, as crash-maker prints it with --mark.
func faultMark(in output: String) -> UInt64? {
  output.split(separator: "\n").compactMap { line in
    line.hasPrefix("fault-monotonic-ns ") ? UInt64(line.dropFirst(19)) : nil
  }.first
}
