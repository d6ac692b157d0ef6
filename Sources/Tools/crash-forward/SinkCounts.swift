import CrashReport
import Synchronization

/// What became of the events of one sink since it started.
public struct SinkCounts: Sendable, Equatable {
  /// The other side has them.
  public var delivered = 0
  /// The other side will never take them.
  public var refused = 0
  /// crashd's retention removed them before they were read.
  public var lost = 0
  /// The same crash came again with nothing new for the sink.
  public var repeated = 0
  /// Attempts that failed and were made again, or will be.
  public var retries = 0
  /// Why nothing goes out now; nil when all is well.
  public var trouble: String?

  /// For systemd's status line.
  func text(_ name: String) -> String {
    var parts = ["\(delivered) sent"]
    if refused > 0 { parts.append("\(refused) refused") }
    if lost > 0 { parts.append("\(lost) lost") }
    return "\(name): " + parts.joined(separator: ", ") + (trouble.map { ", waiting: \($0)" } ?? "")
  }
}

/// The counts of all sinks.
public final class SinkBoard: Sendable {
  private let counts = Mutex<[String: SinkCounts]>([:])
  private let changed: @Sendable (String) -> Void

  /// `changed` gets the status line whenever it is another one.
  public init(changed: @escaping @Sendable (String) -> Void = { _ in }) { self.changed = changed }

  /// Those of one sink.
  public func counts(of name: String) -> SinkCounts { counts.withLock { $0[name] ?? SinkCounts() } }

  func change(_ name: String, _ body: (inout SinkCounts) -> Void) {
    let lines = counts.withLock { all in
      let before = all[name]?.text(name)
      body(&all[name, default: SinkCounts()])
      return before == all[name]?.text(name) ? nil : all.sorted { $0.key < $1.key }.map { $1.text($0) }
    }
    // systemd takes each line for an assignment of its own, and a server may have had a word in it.
    if let lines { changed(CleanText.line(lines.joined(separator: "; "))) }
  }
}
