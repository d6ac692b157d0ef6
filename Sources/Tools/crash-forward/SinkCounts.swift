import CrashReport
import Synchronization

/// The counters of one sink since it started.
public struct SinkCounts: Sendable, Equatable {
  /// The number of events that the server accepted.
  public var delivered = 0
  /// The number of events that the server will never accept.
  public var refused = 0
  /// The number of reports and counters that the server dropped, because they are older than its retention.
  public var expired = 0
  /// The number of events that crashd's retention removed before they were read.
  public var lost = 0
  /// The number of skipped duplicates: crashes that crashd sent again without new data for the sink.
  public var repeated = 0
  /// The number of requests of the fleet (asks) that this host refused.
  public var refusedAsks = 0
  /// The number of failed attempts that are retried.
  public var retries = 0
  /// The reason why the sink waits before its next attempt.
  ///
  /// Nil while the sink is sending.
  public var failure: String?

  /// Returns the text for systemd's status line.
  func text(_ name: String) -> String {
    var parts = ["\(delivered) sent"]
    if refused > 0 { parts.append("\(refused) refused") }
    if expired > 0 { parts.append("\(expired) expired") }
    if lost > 0 { parts.append("\(lost) lost") }
    if refusedAsks > 0 { parts.append("\(counted(refusedAsks, "ask")) refused") }
    return "\(name): " + parts.joined(separator: ", ") + (failure.map { ", waiting: \($0)" } ?? "")
  }
}

/// The counters of all sinks.
public final class SinkBoard: Sendable {
  private let counts = Mutex<[String: SinkCounts]>([:])
  private let changed: @Sendable (String) -> Void

  /// Creates the counters.
  ///
  /// They call `changed` with each new status line.
  public init(changed: @escaping @Sendable (String) -> Void = { _ in }) { self.changed = changed }

  /// Returns the counters of one sink.
  public func counts(of name: String) -> SinkCounts { counts.withLock { $0[name] ?? SinkCounts() } }

  func change(_ name: String, _ body: (inout SinkCounts) -> Void) {
    let lines = counts.withLock { all in
      let before = all[name]?.text(name)
      body(&all[name, default: SinkCounts()])
      return before == all[name]?.text(name) ? nil : all.sorted { $0.key < $1.key }.map { $1.text($0) }
    }
    // Replace line breaks, because systemd parses each line as an assignment. Parts of the status line can come from a
    // server.
    if let lines { changed(CleanText.line(lines.joined(separator: "; "))) }
  }
}
