import CrashClient
public import CrashProtocol
import Glibc
import LinuxSystem

/// A receiver of the health of builds: their crashes, requests and running time.
///
/// Each receiver is used by one thread only.
public protocol HealthSink: Sendable {
  /// The name in log lines and in the status line.
  var name: String { get }
  /// Sends the counts of the builds, and waits for the outcome.
  mutating func deliver(_ builds: [BuildHealth], at time_ns: UInt64) -> Delivery
}

/// Reads the health of builds from crashd each minute, and delivers it.
///
/// crashd's counts are absolute. A failed delivery is therefore not repeated: the next delivery includes the same
/// crashes and requests.
public struct HealthRunner: Sendable {
  private static let interval = Duration.seconds(60)

  private var sink: any HealthSink
  private let filter: String?
  private let around: SinkRunner.Surroundings
  private let now_ns: @Sendable () -> UInt64

  /// - Parameters:
  ///   - sink: The receiver.
  ///   - filter: Limits the runner to programs whose name contains this string.
  ///   - around: The client of crashd, the log, and the other dependencies.
  ///   - now_ns: The wall clock, in nanoseconds since 1970.
  public init(
    _ sink: any HealthSink, filter: String?, around: SinkRunner.Surroundings,
    now_ns: (@Sendable () -> UInt64)? = nil
  ) {
    (self.sink, self.filter, self.around, self.now_ns) = (sink, filter, around, now_ns ?? { Self.wallTime_ns() })
  }

  private static func wallTime_ns() -> UInt64 {
    var time = timespec()
    // Invariant: clock_gettime writes one timespec, and CLOCK_REALTIME always exists.
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return UInt64(clamping: time.tv_sec) * 1_000_000_000 + UInt64(clamping: time.tv_nsec)
  }

  /// Delivers until a stop is requested.
  public mutating func run() {
    around.board.change(sink.name) { _ in }
    repeat { deliverOnce() } while !around.wait(Self.interval)
  }

  mutating func deliverOnce() {
    let builds: [BuildHealth]
    do throws(ClientError) { builds = try around.client.health(name: filter).builds } catch {
      return note(SinkRunner.text(error))
    }
    switch sink.deliver(builds, at: now_ns()) {
    case .delivered:
      around.board.change(sink.name) { $0.delivered += 1 }
      note(nil)
    case .refused(let why):
      around.board.change(sink.name) { $0.refused += 1 }
      around.log(.error, "\(sink.name): dropped the counts of one minute: \(why)")
    case .later(let why, _, _):
      around.board.change(sink.name) { $0.retries += 1 }
      note(why)
    }
  }

  /// Records why the runner waits, and logs each reason once.
  private func note(_ why: String?) {
    let before = around.board.counts(of: sink.name).failure
    guard before != why else { return }
    around.board.change(sink.name) { $0.failure = why }
    if let why {
      around.log(.warning, "\(sink.name): waiting: \(why)")
    } else {
      around.log(.notice, "\(sink.name): recovered")
    }
  }
}
